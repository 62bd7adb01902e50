// Nodes with every behaviour that the run loop must survive, one export each.
#include <agent_graph/agent_graph.h>

#include <agent_graph/json.h>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

using namespace agent_graph;

namespace {

NodeResult Echo(const State& state, RunContext&) {
  return NodeResult(Message::Assistant("echo: " + state.LastUserText())).Set("visits", "ECHO");
}

NodeResult Throw(const State&, RunContext&) {
  throw std::runtime_error("this node always fails");
}

NodeResult Sleep(const State&, RunContext& context) {
  context.SleepFor(std::chrono::milliseconds(context.config().value("sleep_ms", 1000)));
  return Message::Assistant(context.cancelled() ? "woken early" : "slept well");
}

// The value of the environment variable that the user names, read in the graph's process.
NodeResult Environment(const State& state, RunContext&) {
  const char* value = std::getenv(state.LastUserText().c_str());
  return Message::Assistant(value == nullptr ? "unset" : std::string("set to ") + value);
}

// Checks neither its cancellation nor the time.
NodeResult Hang(const State&, RunContext&) {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Ends its worker.
NodeResult Crash(const State&, RunContext&) {
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
  return {};
}

NodeResult Stream(const State&, RunContext& context) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    std::string piece = "piece" + std::to_string(i) + " ";
    if (!context.EmitText(piece)) break;
    text += piece;
  }
  return Message::Assistant(text);
}

// Streams, and waits in the middle until the file exists that the user names.
NodeResult StreamAndWait(const State& state, RunContext& context) {
  context.EmitText("begun, ");
  while (!std::filesystem::exists(state.LastUserText())) {
    if (!context.SleepFor(std::chrono::milliseconds(10))) return Message::Assistant("cut");
  }
  context.EmitText("ended");
  return Message::Assistant("begun, ended");
}

StateField Visits() {
  return {.name = "visits",
          .reducer = Reducer::kAppend,
          .schema_json = R"({"type":"array","items":{"type":"string"}})"};
}

void BuildEcho(GraphBuilder& graph) {
  graph.AddField(Visits());
  graph.AddFunction("ECHO", Echo).AddEdge(START, "ECHO").AddEdge("ECHO", END);
}

void BuildThrowing(GraphBuilder& graph) {
  graph.AddFunction("BROKEN", Throw).AddEdge(START, "BROKEN");
}

void BuildSleeping(GraphBuilder& graph) {
  graph.AddFunction("SLEEP", Sleep).AddEdge(START, "SLEEP");
}

void BuildHanging(GraphBuilder& graph) {
  graph.AddFunction("HANG", Hang, Execution::kBlocking, std::chrono::milliseconds(100));
  graph.AddEdge(START, "HANG");
}

void BuildCrashing(GraphBuilder& graph) {
  graph.AddFunction("CRASH", Crash).AddEdge(START, "CRASH");
}

void BuildCrashingOnFiber(GraphBuilder& graph) {
  graph.AddFunction("CRASH", Crash, Execution::kNonBlocking).AddEdge(START, "CRASH");
}

void BuildEnvironment(GraphBuilder& graph) {
  graph.AddFunction("LOOK", Environment).AddEdge(START, "LOOK");
}

void BuildStreaming(GraphBuilder& graph) {
  graph.AddFunction("STREAM", Stream).AddEdge(START, "STREAM");
}

void BuildStreamingSlowly(GraphBuilder& graph) {
  graph.AddFunction("STREAM", StreamAndWait).AddEdge(START, "STREAM");
}

void BuildEndless(GraphBuilder& graph) {
  graph.AddFunction("AGAIN", Echo, Execution::kNonBlocking);
  graph.AddEdge(START, "AGAIN").AddEdge("AGAIN", "AGAIN");
}

NodeFunction SayAndVisit(std::string text, std::string name) {
  return [text, name](const State&, RunContext&) {
    return NodeResult(Message::Assistant(text)).Set("visits", name);
  };
}

void BuildTwoSteps(GraphBuilder& graph) {
  graph.AddField(Visits());
  graph.AddFunction("FIRST", SayAndVisit("first", "FIRST"));
  graph.AddFunction("SECOND", SayAndVisit("second", "SECOND"));
  graph.AddEdge(START, "FIRST").AddEdge("FIRST", "SECOND");
}

void BuildPausing(GraphBuilder& graph) {
  BuildTwoSteps(graph);
  graph.InterruptBefore({"SECOND"});
}

void BuildPausingAfter(GraphBuilder& graph) {
  BuildTwoSteps(graph);
  graph.InterruptAfter({"FIRST"});
}

// Interrupts the run and continues only after a "yes".
void BuildAsking(GraphBuilder& graph) {
  graph.AddFunction("ASK", [](const State& state, RunContext&) -> NodeResult {
    NodeResult result(Message::Assistant("Really?"));
    result.interrupt = Interrupt{"needs a yes", R"({"about":")" + state.LastUserText() + R"("})"};
    return result;
  });
  graph.AddFunction("ACT", [](const State& state, RunContext&) -> NodeResult {
    return Message::Assistant("you said " + state.LastUserText());
  });
  graph.AddEdge(START, "ASK").AddEdge("ASK", "ACT");
}

// "show X" stores a message with an image, "keep X" stores a text, "drop ID" deletes one, "read ID"
// returns one; any other text is a search.
NodeResult Remember(const State& state, RunContext& context) {
  const std::string text = state.LastUserText();
  const std::string word = text.substr(0, 5);
  const std::string rest = text.size() > 5 ? text.substr(5) : "";
  if (word == "keep ") {
    return Message::Assistant(context.memories().Store({.content = rest, .category = "kept"}));
  }
  if (word == "show ") {
    Message message = Message::Assistant(rest);
    MediaBlock image;
    image.media.url = "https://example.org/tea.png";
    message.content.push_back(std::move(image));
    return Message::Assistant(context.memories().Store({.message = message}));
  }
  if (word == "drop ") {
    return Message::Assistant(context.memories().Delete(rest) ? "dropped" : "unknown");
  }
  if (word == "read ") {
    const auto memory = context.memories().Get(rest);
    if (!memory) return Message::Assistant("unknown");
    std::string shown = memory->user_id + ": " + memory->content;
    if (memory->message) {
      shown += " by " + std::string(RoleName(memory->message->role)) + ", blocks " +
               std::to_string(memory->message->content.size());
    }
    return Message::Assistant(shown);
  }
  std::string found;
  for (const FoundMemory& memory : context.memories().Search({.query = text, .category = "kept"})) {
    found += memory.content + ";";
  }
  return Message::Assistant(found);
}

void BuildRemembering(GraphBuilder& graph) {
  graph.AddFunction("REMEMBER", Remember).AddEdge(START, "REMEMBER");
}

void BuildRememberingOnFiber(GraphBuilder& graph) {
  graph.AddFunction("REMEMBER", Remember, Execution::kNonBlocking).AddEdge(START, "REMEMBER");
}

// Answers with the file that the user names, and with one of its own.
NodeResult ShowFiles(const State& state, RunContext&) {
  MediaBlock stored;
  stored.media.kind = MediaReference::Kind::kFileId;
  stored.media.file_id = state.LastUserText();
  MediaBlock inlined;
  inlined.type = MediaBlock::Type::kDocument;
  inlined.media.kind = MediaReference::Kind::kData;
  inlined.media.data_base64 = "aGk=";
  inlined.media.mime_type = "text/plain";
  Message answer = Message::Assistant("");
  answer.content = {stored, inlined};
  return answer;
}

void BuildShowingFiles(GraphBuilder& graph) {
  graph.AddFunction("SHOW", ShowFiles).AddEdge(START, "SHOW");
}

}  // namespace

AGENT_GRAPH_EXPORT(showing_files, BuildShowingFiles)
AGENT_GRAPH_EXPORT(remembering, BuildRemembering)
AGENT_GRAPH_EXPORT(remembering_on_fiber, BuildRememberingOnFiber)
AGENT_GRAPH_EXPORT(echo, BuildEcho)
AGENT_GRAPH_EXPORT(throwing, BuildThrowing)
AGENT_GRAPH_EXPORT(sleeping, BuildSleeping)
AGENT_GRAPH_EXPORT(hanging, BuildHanging)
AGENT_GRAPH_EXPORT(crashing, BuildCrashing)
AGENT_GRAPH_EXPORT(crashing_on_fiber, BuildCrashingOnFiber)
AGENT_GRAPH_EXPORT(environment, BuildEnvironment)
AGENT_GRAPH_EXPORT(streaming, BuildStreaming)
AGENT_GRAPH_EXPORT(streaming_slowly, BuildStreamingSlowly)
AGENT_GRAPH_EXPORT(endless, BuildEndless)
AGENT_GRAPH_EXPORT(pausing, BuildPausing)
AGENT_GRAPH_EXPORT(two_steps, BuildTwoSteps)
AGENT_GRAPH_EXPORT(pausing_after, BuildPausingAfter)
AGENT_GRAPH_EXPORT(asking, BuildAsking)
