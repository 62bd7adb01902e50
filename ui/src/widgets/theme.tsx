import {useState} from "preact/hooks";
import {Button} from "./button";

// Switches between light and dark for as long as the page is open; it begins as the system has it.
export function ThemeButton() {
  const system = matchMedia("(prefers-color-scheme: dark)").matches;
  const [dark, setDark] = useState(system);
  const toggle = () => {
    document.documentElement.dataset["theme"] = dark ? "light" : "dark";
    setDark(!dark);
  };
  return (
    <Button
      icon="sun"
      label={dark ? "Light colours" : "Dark colours"}
      kind="quiet"
      hideLabel
      onClick={toggle}
    />
  );
}
