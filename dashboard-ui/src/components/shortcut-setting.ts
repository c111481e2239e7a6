import { browserStore } from "./storage.ts";

const STORED_AS = "shortcuts";

/** Whether keys without Ctrl or Cmd are shortcuts in this browser. Users who speak to their computer may type them by chance (WCAG 2.1.4). */
export function hasKeyShortcuts(): boolean {
  return browserStore.read(STORED_AS) !== "off";
}

export function setKeyShortcuts(isOn: boolean): void {
  browserStore.write(STORED_AS, isOn ? null : "off");
}
