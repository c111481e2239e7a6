import type { Icon } from "../icons/icon.ts";
import {
  Activity,
  BookOpen,
  Boxes,
  ChartColumn,
  CircleUserRound,
  FlaskConical,
  History,
  KeyRound,
  LayoutDashboard,
  Library,
  Lock,
  Plug,
  Rocket,
  ScrollText,
  Server,
  ShieldAlert,
  SquareTerminal,
  UsersRound,
  Wallet,
} from "../icons/icons.ts";
import type { PageLink } from "./pages.ts";

/** The icons of pages in the navigation and the command palette. */
export const PAGE_ICONS: Readonly<Record<PageLink["to"], Icon>> = {
  "/": LayoutDashboard,
  "/playground": FlaskConical,
  "/models": Boxes,
  "/connect": Rocket,
  "/audit": ScrollText,
  "/settings/keys": KeyRound,
  "/settings/tokens": SquareTerminal,
  "/settings/credits": Wallet,
  "/settings/account": CircleUserRound,
  "/settings/sign-in": Lock,
  "/operator": UsersRound,
  "/operator/usage": ChartColumn,
  "/operator/log": ScrollText,
  "/operator/status": Activity,
  "/operator/upstreams": Server,
  "/operator/catalog": Library,
  "/operator/connect": Plug,
  "/operator/security": ShieldAlert,
  "/operator/trail": History,
};

export const DOCS_ICON = BookOpen;
