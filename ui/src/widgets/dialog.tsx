import type {ComponentChildren} from "preact";
import {useEffect, useRef} from "preact/hooks";
import {Button} from "./button";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({title, onClose, children}: Props) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title}>
      <header>
        <h2>{title}</h2>
        <Button icon="close" label="Close" hideLabel kind="quiet" onClick={() => element.current?.close()} />
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  text: string;
  action: string;
  onYes: () => void;
  onClose: () => void;
}

export function Confirm({title, text, action, onYes, onClose}: ConfirmProps) {
  const yes = () => {
    onClose();
    onYes();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{text}</p>
      <footer>
        <Button label="Cancel" onClick={onClose} />
        <Button label={action} kind="danger" onClick={yes} />
      </footer>
    </Dialog>
  );
}
