// Markdown of the agent. It is untrusted: HTML in it is shown as text, images become links, and the result
// is sanitised again before it gets into the page.
import DOMPurify from "dompurify";
import {Marked} from "marked";
import {useMemo} from "preact/hooks";

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({text}) => escaped(text),
    image: ({href, text}) => `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

const purifier = DOMPurify(window);
purifier.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
  if (node.tagName === "PRE") node.setAttribute("tabindex", "0");
});

const ALLOWED = {
  ALLOWED_TAGS: [
    ..."a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s strong table tbody td th thead tr ul".split(
      " ",
    ),
  ],
  ALLOWED_ATTR: ["href", "start", "align"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
};

export function toHtml(text: string): string {
  return purifier.sanitize(marked.parse(text, {async: false}), ALLOWED);
}

export function Markdown({text}: {text: string}) {
  const html = useMemo(() => toHtml(text), [text]);
  return <div class="markdown" dangerouslySetInnerHTML={{__html: html}} />;
}
