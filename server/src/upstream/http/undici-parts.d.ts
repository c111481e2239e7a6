// undici publishes the types of its parts, but not at their paths.

declare module "undici/lib/dispatcher/agent.js" {
  export { Agent as default } from "undici";
}

declare module "undici/lib/core/connect.js" {
  export { buildConnector as default } from "undici";
}

declare module "undici/lib/core/errors.js" {
  export { errors as default } from "undici";
}
