import {useState} from "preact/hooks";
import {Button} from "./button";

// Also works where the clipboard's API is missing because the page came over plain http.
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function CopyButton({
  text,
  label,
  hideLabel = true,
}: {
  text: string;
  label: string;
  hideLabel?: boolean;
}) {
  const [copied, setCopied] = useState(false);
  const click = () =>
    copy(text).then(() => {
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    });
  return (
    <Button
      kind="quiet"
      icon={copied ? "evals" : "copy"}
      label={copied ? "Copied" : label}
      hideLabel={hideLabel}
      onClick={click}
    />
  );
}
