import type {ComponentChildren} from "preact";
import {useLayoutEffect, useRef} from "preact/hooks";
import {Button} from "./button";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({title, onClose, children}: Props) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // A dialog that is removed while it is open would lose the focus instead of returning it.
    return () => dialog?.close();
  }, []);
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
