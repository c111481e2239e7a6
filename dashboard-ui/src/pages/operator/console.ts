// The pages of the operator console load together, because operators move between them.
export { AccountPage } from "./AccountPage.tsx";
export { Accounts } from "./Accounts.tsx";
export { CatalogPage } from "./CatalogPage.tsx";
export { ConnectProvider } from "./ConnectProvider.tsx";
export { Security } from "./Security.tsx";
export { ServiceUsage } from "./ServiceUsage.tsx";
export { Status } from "./Status.tsx";
export { Trail } from "./Trail.tsx";
export { Upstreams } from "./Upstreams.tsx";
