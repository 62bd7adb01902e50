// A button that lets the user choose files.
import {useRef} from "preact/hooks";
import {Button} from "./button";
import type {IconName} from "./icon";

interface Props {
  icon: IconName;
  label: string;
  quiet?: boolean;
  onFiles: (files: File[]) => void;
}

export function FileButton({icon, label, quiet = false, onFiles}: Props) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={picker}
        type="file"
        multiple
        hidden
        aria-label="Files"
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
      <Button
        icon={icon}
        label={label}
        kind={quiet ? "quiet" : "plain"}
        hideLabel={quiet}
        onClick={() => picker.current?.click()}
      />
    </>
  );
}
