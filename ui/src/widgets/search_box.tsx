// A search field. With `action` it is a form that is submitted; without, every change counts.
import {useState} from "preact/hooks";
import {Button} from "./button";

interface BoxProps {
  label: string;
  placeholder?: string;
  onText: (text: string) => void;
}

export function SearchBox({label, placeholder = label, onText}: BoxProps) {
  return (
    <input
      class="search"
      type="search"
      aria-label={label}
      placeholder={placeholder}
      onInput={(event) => onText(event.currentTarget.value)}
    />
  );
}

export function SearchForm({action, onText, ...box}: BoxProps & {action: string}) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    onText(text.trim());
  };
  return (
    <form class="line" role="search" onSubmit={submit}>
      <SearchBox {...box} onText={setText} />
      <Button label={action} type="submit" />
    </form>
  );
}
