// The operator console is loaded as one: whoever works in it goes from page to page.
export { AccountPage } from "./AccountPage.tsx";
export { Accounts } from "./Accounts.tsx";
export { CatalogPage } from "./CatalogPage.tsx";
export { Security } from "./Security.tsx";
export { ServiceUsage } from "./ServiceUsage.tsx";
export { Trail } from "./Trail.tsx";
export { Upstreams } from "./Upstreams.tsx";
