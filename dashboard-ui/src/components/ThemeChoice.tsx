import { useState } from "react";
import { Segmented } from "./Segmented.tsx";
import { chooseTheme, readTheme, type Theme } from "./theme.ts";

const THEMES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: "system", label: "Auto" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** Light, dark, or as the system is. */
export function ThemeChoice() {
  const [theme, setTheme] = useState(readTheme);
  return (
    <Segmented
      label="Theme"
      value={theme}
      options={THEMES}
      onChange={(next) => {
        chooseTheme(next);
        setTheme(next);
      }}
    />
  );
}
