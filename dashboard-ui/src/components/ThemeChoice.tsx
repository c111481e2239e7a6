import { useState } from "react";
import { Segmented } from "./Segmented.tsx";
import { chooseTheme, readTheme, type Theme } from "./theme.ts";

const THEMES: readonly { readonly value: Theme; readonly label: string }[] = [
  { value: "system", label: "Auto" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

/** The choice between the light, dark and system theme. */
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
