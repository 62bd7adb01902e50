import type {ComponentChildren} from "preact";
import {Icon, type IconName} from "./icon";

interface Props {
  icon?: IconName;
  label: string;
  hideLabel?: boolean;
  kind?: "plain" | "main" | "danger" | "quiet";
  type?: "button" | "submit";
  disabled?: boolean;
  pressed?: boolean;
  onClick?: () => void;
  children?: ComponentChildren;
}

export function Button({
  icon,
  label,
  hideLabel,
  kind = "plain",
  type = "button",
  disabled,
  pressed,
  onClick,
}: Props) {
  return (
    <button
      type={type}
      class={`button ${kind}${hideLabel ? " square" : ""}`}
      aria-label={hideLabel ? label : undefined}
      title={hideLabel ? label : undefined}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={onClick}
    >
      {icon && <Icon name={icon} />}
      {!hideLabel && <span>{label}</span>}
    </button>
  );
}
