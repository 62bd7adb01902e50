// Opens an EventSource, as a browser does, and prints one JSON line for each thing that happens to it.
// event_source.mjs MODULE URL
const [, , module, url] = process.argv;
const {EventSource} = await import(module);
const print = (line) => console.log(JSON.stringify(line));

const source = new EventSource(url);
source.onopen = () => print({what: "open"});
for (const name of ["message", "updates", "error"]) {
  source.addEventListener(name, (event) => {
    if (event.data === undefined) {
      // The connection ended. It opens another one by itself, unless the answer tells it not to.
      print({what: source.readyState === EventSource.CLOSED ? "closed" : "cut"});
      return;
    }
    print({what: "event", name, id: event.lastEventId, chunk: JSON.parse(event.data)});
  });
}
