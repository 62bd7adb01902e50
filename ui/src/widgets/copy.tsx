import {useState} from "preact/hooks";
import {Button} from "./button";

// Also works where the clipboard's API is missing because the page came over plain http.
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  if (!copied) throw new Error("the browser does not allow it");
}

const SHOWN_MS = 1500;
const OUTCOMES = {
  none: {icon: "copy", label: null},
  copied: {icon: "evals", label: "Copied"},
  failed: {icon: "close", label: "Not copied: the browser does not allow it"},
} as const;

export function CopyButton({
  text,
  label,
  hideLabel = true,
}: {
  text: string;
  label: string;
  hideLabel?: boolean;
}) {
  const [outcome, setOutcome] = useState<keyof typeof OUTCOMES>("none");
  const show = (shown: keyof typeof OUTCOMES) => {
    setOutcome(shown);
    setTimeout(() => setOutcome("none"), SHOWN_MS);
  };
  const click = () =>
    copy(text).then(
      () => show("copied"),
      () => show("failed"),
    );
  const shown = OUTCOMES[outcome];
  return (
    <Button
      kind="quiet"
      icon={shown.icon}
      label={shown.label ?? label}
      hideLabel={hideLabel}
      onClick={click}
    />
  );
}
