// Input that the agent waits for: a permission, results of tools that the client runs, answers to questions of
// tools, or decisions about calls whose effect is unknown.
import {useState} from "preact/hooks";
import type {Schema} from "../api/graph";
import type {Interrupt} from "../api/messages";
import {Button} from "../widgets/button";
import {JsonView} from "../widgets/json";
import {SchemaForm} from "../widgets/schema_form";
import {type CallBlock, type Elicitation, listOf, type UndecidedCall} from "./calls";
import type {Chat} from "./chat";

interface Props {
  interrupt: Interrupt;
  calls: CallBlock[];
  chat: Chat;
}

// A result is JSON or, if it is none, text.
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function RemoteCalls({calls, chat}: {calls: CallBlock[]; chat: Chat}) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const send = (isError: boolean) =>
    void chat.answer(calls.map(({id}) => ({id, output: parsed(texts[id] ?? ""), isError})));
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        send(false);
      }}
    >
      {calls.map(({id, name, args}) => (
        <div key={id} class="fields">
          <p>
            The agent asks you to run <b>{name}</b>.
          </p>
          <JsonView value={args ?? {}} label={`Arguments of ${name}`} />
          <label class="field">
            <span>Result of {name}</span>
            <textarea
              class="code"
              rows={3}
              value={texts[id] ?? ""}
              placeholder={'{"city": "Rome"}'}
              spellcheck={false}
              onInput={(event) => setTexts({...texts, [id]: event.currentTarget.value})}
            />
            <small>JSON or text</small>
          </label>
        </div>
      ))}
      <div class="actions">
        <Button label="Report a failure" onClick={() => send(true)} />
        <Button label="Send the result" kind="main" type="submit" />
      </div>
    </form>
  );
}

// A page that the person visits to answer, such as a sign-in. Its whole address is shown, so that the person
// sees where the link leads. Only web pages become links: the address comes from a tool's server.
function Page({url}: {url: string}) {
  if (!/^https?:\/\//i.test(url)) return <p class="url">{url}</p>;
  return (
    <p class="url">
      <a href={url} target="_blank" rel="noopener noreferrer nofollow">
        {url}
      </a>
    </p>
  );
}

function ElicitationForm({question, chat}: {question: Elicitation; chat: Chat}) {
  const answer = (action: string, content?: Record<string, unknown>) =>
    void chat.answer([{id: question.id, output: content ? {action, content} : {action}}]);
  const schema = (question.requested_schema ?? {}) as Schema;
  return (
    <div class="fields">
      <p>
        <b>{question.tool}</b> of {question.server} asks: {question.message}
      </p>
      {question.mode === "url" && <Page url={question.url ?? ""} />}
      {question.mode === "form" ? (
        <SchemaForm schema={schema} action="Answer" onSubmit={(values) => answer("accept", values)} />
      ) : (
        <Button label="I have done it" kind="main" onClick={() => answer("accept")} />
      )}
      <div class="actions">
        <Button label="Decline" onClick={() => answer("decline")} />
        <Button label="Cancel the call" onClick={() => answer("cancel")} />
      </div>
    </div>
  );
}

function Undecided({call, chat}: {call: UndecidedCall; chat: Chat}) {
  const [text, setText] = useState("");
  const decide = (action: "retry" | "skip") => void chat.decide([{call_id: call.call_id, action}]);
  return (
    <div class="fields">
      <p>
        The worker died during <b>{call.tool}</b>. It is unknown if the call took effect.
      </p>
      <JsonView value={call.arguments ?? {}} label={`Arguments of ${call.tool}`} />
      <label class="field">
        <span>Its result, if you know it</span>
        <input value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <div class="actions">
        <Button
          label="Use this result"
          disabled={!text}
          onClick={() => void chat.decide([{call_id: call.call_id, action: "result", result: text}])}
        />
        <Button label="Skip the call" onClick={() => decide("skip")} />
        <Button label="Call it again" kind="main" onClick={() => decide("retry")} />
      </div>
    </div>
  );
}

function Permission({interrupt, calls, chat}: Props) {
  const say = (text: string) => void chat.say([{type: "text", text}]);
  return (
    <div class="fields">
      <p>{interrupt.reason || `The agent waits at ${interrupt.node}.`}</p>
      {calls.map((call) => (
        <div key={call.id}>
          <p class="label">{call.name}</p>
          <JsonView value={call.args ?? {}} label={`Arguments of ${call.name}`} />
        </div>
      ))}
      {interrupt.data != null && <JsonView value={interrupt.data} label="Details" />}
      <div class="actions">
        <Button label="No" onClick={() => say("no")} />
        <Button label="Yes, go on" kind="main" onClick={() => say("yes")} />
      </div>
      <p class="detail">Or write another answer below.</p>
    </div>
  );
}

export function Question(props: Props) {
  const {interrupt, calls, chat} = props;
  const elicitations = listOf<Elicitation>(interrupt, "elicitations");
  const undecided = listOf<UndecidedCall>(interrupt, "undecided_tool_calls");
  const remoteIds = new Set(listOf<{id: string}>(interrupt, "remote_tool_calls").map(({id}) => id));
  const remote = calls.filter(({id}) => remoteIds.has(id));
  const others = elicitations.length + undecided.length + remote.length > 0;
  return (
    <section class="question" aria-label="The agent waits for you">
      {elicitations.map((question) => (
        <ElicitationForm key={question.id} question={question} chat={chat} />
      ))}
      {undecided.map((call) => (
        <Undecided key={call.call_id} call={call} chat={chat} />
      ))}
      {remote.length > 0 && <RemoteCalls calls={remote} chat={chat} />}
      {!others && <Permission {...props} />}
    </section>
  );
}
