import type {ComponentType} from "preact";
import {useEffect, useRef, useState} from "preact/hooks";
import {readGraph} from "./api/graph";
import {session, signOut} from "./api/session";
import {href, route} from "./base/route";
import {useStore} from "./base/store";
import {PAGES, type PageEntry, type PageProps} from "./pages";
import {SignIn} from "./sign_in";
import {Button} from "./widgets/button";
import {Icon} from "./widgets/icon";
import {ErrorNote, Loading} from "./widgets/states";
import {ThemeButton} from "./widgets/theme";

// As in index.html, so that the first frame stays until the service has answered.
function FirstFrame() {
  return (
    <div class="shell">
      <nav class="pages" aria-label="Pages">
        <p class="brand">Studio</p>
      </nav>
      <main id="main" tabIndex={-1}>
        <Loading />
      </main>
    </div>
  );
}

function Navigation({current}: {current: string}) {
  const {token} = useStore(session);
  const list = useRef<HTMLUListElement>(null);
  // On a phone the row of pages scrolls.
  useEffect(() => {
    list.current?.querySelector("[aria-current]")?.scrollIntoView({block: "nearest", inline: "nearest"});
  }, [current]);
  return (
    <nav class="pages" aria-label="Pages">
      <p class="brand">Studio</p>
      <ul ref={list}>
        {PAGES.map(({id, title, icon}) => (
          <li key={id}>
            <a href={href(id)} aria-current={id === current ? "page" : undefined}>
              <Icon name={icon} />
              <span>{title}</span>
            </a>
          </li>
        ))}
      </ul>
      <div class="corner">
        <ThemeButton />
        {token && <Button icon="out" label="Sign out" kind="quiet" hideLabel onClick={signOut} />}
      </div>
    </nav>
  );
}

// The page's code, once it has arrived.
function usePage(entry: PageEntry) {
  const [loaded, setLoaded] = useState<{id: string; Page: ComponentType<PageProps>} | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    setError(null);
    entry.load().then(({Page}) => setLoaded({id: entry.id, Page}), setError);
  }, [entry]);
  return {Page: loaded?.id === entry.id ? loaded.Page : null, error};
}

function Current() {
  const [id, ...ids] = useStore(route);
  const entry = PAGES.find((page) => page.id === id) ?? (PAGES[0] as PageEntry);
  const {Page, error} = usePage(entry);
  useEffect(() => {
    document.title = `${entry.title} – Studio`;
  }, [entry]);
  return (
    <>
      <Navigation current={entry.id} />
      <main id="main" tabIndex={-1}>
        {error ? <ErrorNote error={error} /> : Page ? <Page ids={ids} /> : <Loading />}
      </main>
    </>
  );
}

export function App() {
  const {refused, token} = useStore(session);
  const [asked, setAsked] = useState(false);
  // One request finds out whether the service wants a token, before pages ask for more.
  useEffect(() => {
    setAsked(false);
    readGraph()
      .catch(() => {})
      .finally(() => setAsked(true));
  }, [token]);
  const skip = (event: Event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  };
  if (refused) return <SignIn />;
  if (!asked) return <FirstFrame />;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the page
      </a>
      <Current />
    </div>
  );
}
