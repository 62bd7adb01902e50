import {useState} from "preact/hooks";
import {session, signIn} from "./api/session";
import {useStore} from "./base/store";

export function SignIn() {
  const {token} = useStore(session);
  const [text, setText] = useState("");
  const [keep, setKeep] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    if (text.trim()) signIn(text.trim(), keep);
  };
  return (
    <main class="sign-in">
      <form onSubmit={submit}>
        <h1>Studio</h1>
        <p>
          {token
            ? "The service has refused this token. It may have expired."
            : "This agent asks who you are."}
        </p>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
            aria-describedby="token-use"
          />
        </label>
        <label class="check">
          <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.currentTarget.checked)} />
          <span>Keep it until this tab is closed</span>
        </label>
        <button type="submit" class="button main">
          Sign in
        </button>
        <p class="detail" id="token-use">
          A bearer token. It stays in this tab and is sent to this service only.
        </p>
      </form>
    </main>
  );
}
