// A form made from a JSON Schema: a field for each property. Values that are no plain text, number or choice
// are written as JSON.
import {useState} from "preact/hooks";
import type {Schema} from "../api/graph";

type Kind = "text" | "number" | "integer" | "boolean" | "choice" | "json";

function kindOf(schema: Schema): Kind {
  if (schema.enum) return "choice";
  const types = [schema.type ?? schema.anyOf?.map((one) => one.type)]
    .flat(2)
    .filter((type) => type !== "null");
  if (types.length !== 1) return "json";
  switch (types[0]) {
    case "string":
      return "text";
    case "number":
    case "integer":
    case "boolean":
      return types[0];
    default:
      return "json";
  }
}

// The value that the text of a field stands for; undefined: the field is left out. Throws for a mistake.
function readValue(kind: Kind, text: string, schema: Schema): unknown {
  if (text === "") return undefined;
  if (kind === "text") return text;
  if (kind === "choice") return schema.enum?.find((choice) => String(choice) === text);
  const value: unknown = JSON.parse(text);
  if ((kind === "number" || kind === "integer") && typeof value !== "number") throw new Error("not a number");
  if (kind === "integer" && !Number.isInteger(value)) throw new Error("not a whole number");
  return value;
}

export function valuesOf(schema: Schema, texts: Record<string, string>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const kind = kindOf(property);
    let value: unknown;
    try {
      value = readValue(kind, texts[name] ?? "", property);
    } catch {
      throw new Error(`${name}: this is no ${kind === "json" ? "JSON" : kind}`);
    }
    if (value !== undefined) values[name] = value;
    else if (schema.required?.includes(name)) throw new Error(`${name}: a value is required`);
  }
  return values;
}

export function textsOf(schema: Schema, values: Record<string, unknown>): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const value = values[name] ?? property.default;
    if (value === undefined || value === null) continue;
    texts[name] = kindOf(property) === "text" ? String(value) : JSON.stringify(value);
    if (kindOf(property) === "choice") texts[name] = String(value);
  }
  return texts;
}

interface FieldProps {
  name: string;
  schema: Schema;
  required: boolean;
  text: string;
  onText: (text: string) => void;
}

function Field({name, schema, required, text, onText}: FieldProps) {
  const kind = kindOf(schema);
  const input = (event: {currentTarget: {value: string}}) => onText(event.currentTarget.value);
  const choices = kind === "boolean" ? ["true", "false"] : (schema.enum ?? []).map(String);
  return (
    <label class="field">
      <span>
        {schema.title ?? name}
        {required && <em> required</em>}
      </span>
      {choices.length > 0 ? (
        <select value={text} onChange={input}>
          <option value="">—</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice}
            </option>
          ))}
        </select>
      ) : kind === "json" ? (
        <textarea class="code" rows={3} value={text} onInput={input} placeholder="JSON" spellcheck={false} />
      ) : (
        <input value={text} onInput={input} inputMode={kind === "text" ? "text" : "decimal"} />
      )}
      {schema.description && <small>{schema.description}</small>}
    </label>
  );
}

interface Props {
  schema: Schema;
  values?: Record<string, unknown>;
  action: string;
  onSubmit: (values: Record<string, unknown>) => void;
}

export function SchemaForm({schema, values = {}, action, onSubmit}: Props) {
  const [texts, setTexts] = useState(() => textsOf(schema, values));
  const [problem, setProblem] = useState<string | null>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    try {
      onSubmit(valuesOf(schema, texts));
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <form class="fields" onSubmit={submit}>
      {Object.entries(schema.properties ?? {}).map(([name, property]) => (
        <Field
          key={name}
          name={name}
          schema={property}
          required={schema.required?.includes(name) ?? false}
          text={texts[name] ?? ""}
          onText={(text) => setTexts((old) => ({...old, [name]: text}))}
        />
      ))}
      {problem && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <button type="submit" class="button main">
        {action}
      </button>
    </form>
  );
}
