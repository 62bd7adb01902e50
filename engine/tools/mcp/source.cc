#include "tools/mcp/source.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent_graph/json.h"
#include "base/allocation_account.h"
#include "runtime/runtime.h"
#include "tools/call/engine_tool_context.h"
#include "tools/mcp/http/parameter_headers.h"
#include "tools/mcp/protocol/background.h"
#include "tools/mcp/tool_result.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kRetryDelayMin{1'000};
constexpr std::chrono::milliseconds kRetryDelayMax{60'000};
constexpr std::chrono::milliseconds kRefreshMin{1'000};
// If a stream ends sooner than this, the delay before the next one increases.
constexpr std::chrono::milliseconds kShortStream{5'000};
constexpr std::chrono::milliseconds kListenPauseMax{60'000};
constexpr std::chrono::milliseconds kEndTimeout{1'000};
constexpr size_t kProblemsLogged = 8;

ToolOutput Explain(const Status& failure, const McpServer& server) {
  switch (failure.code()) {
    case StatusCode::kCancelled:
      return ToolOutput::Error("the call was cancelled");
    case StatusCode::kDeadlineExceeded:
      return ToolOutput::Error("the tool did not answer within " +
                               std::to_string(server.timeout.count()) + " ms");
    case StatusCode::kInvalidArgument:
      return ToolOutput::Error(failure.message());
    default:
      return ToolOutput::Error("the tool's server failed: " + failure.message());
  }
}

// A tool under the server's name.
struct ServersTool {
  std::string name;
  ParameterHeaders headers;
  bool may_repeat = false;
};

ToolOutput Call(Client& client, const McpServer& server, const ServersTool& tool,
                const json& arguments, ToolContext& context) {
  auto* const engine = dynamic_cast<EngineToolContext*>(&context);
  if (engine == nullptr) return ToolOutput::Error("the tool was called outside of a run");
  const TolerateAllocations tolerated;
  Result<net::HttpHeaders> headers = tool.headers.Of(arguments);
  if (!headers.ok()) return ToolOutput::Error(headers.status().message());
  ToolCall call{.name = tool.name, .arguments = arguments, .headers = *std::move(headers)};
  call.may_repeat = tool.may_repeat;
  call.memory = engine->reply_memory();
  if (server.elicitation != Elicitation::kDecline) call.input = engine->input();
  const Result<ToolReply> reply =
      client.CallTool(std::move(call), {engine->cancellation(), engine->deadline()});
  const std::string label = "MCP server " + server.name + ", tool " + tool.name + ": ";
  if (!reply.ok()) {
    context.Log(LogLevel::kWarning, label + reply.status().ToString());
    return Explain(reply.status(), server);
  }
  if (!reply->cancelled.empty()) {
    context.Log(LogLevel::kWarning,
                label + "a question to the user was cancelled: " + reply->cancelled);
  }
  CallInput* const input = engine->input();
  if (input != nullptr && input->pause) {
    input->pause->asker = server.name;
    return ToolOutput();
  }
  return ToOutput(reply->result);
}

std::chrono::milliseconds LongerDelay(std::chrono::milliseconds delay) {
  return std::clamp(delay * 2, kRetryDelayMin, kRetryDelayMax);
}

}  // namespace

std::shared_ptr<Source> Source::Create(McpServer server, StreamableClient::Options options,
                                       std::shared_ptr<const net::HttpClient> http,
                                       std::shared_ptr<const LogFunction> log) {
  std::shared_ptr<Source> source(new Source(std::move(server), std::move(log)));
  options.on_tools_changed = MarkerOf(source);
  source->client_ = std::make_shared<StreamableClient>(std::move(options), std::move(http));
  return source;
}

std::shared_ptr<Source> Source::Create(McpServer server, StdioClient::Options options,
                                       std::shared_ptr<const process::Launcher> launcher,
                                       std::shared_ptr<const LogFunction> log) {
  std::shared_ptr<Source> source(new Source(std::move(server), std::move(log)));
  options.on_tools_changed = MarkerOf(source);
  options.log = [weak = std::weak_ptr<Source>(source)](LogLevel level, const std::string& text) {
    if (const auto self = weak.lock()) self->Log(level, text);
  };
  source->client_ = std::make_shared<StdioClient>(std::move(options), std::move(launcher));
  return source;
}

std::function<void()> Source::MarkerOf(const std::shared_ptr<Source>& source) {
  return [weak = std::weak_ptr<Source>(source)] {
    if (const auto self = weak.lock()) self->MarkChanged();
  };
}

Source::Source(McpServer server, std::shared_ptr<const LogFunction> log)
    : server_(std::move(server)), log_(std::move(log)) {}

bool Source::IsDue(Deadline now) const {
  return !discovering_ && !closing_.cancelled() && (changes_ != changes_known_ || now >= due_);
}

// The cached tools are used during a refresh, unless they are known to be outdated.
bool Source::MustWait() const {
  return discovering_ && !closing_.cancelled() && (!known_ || changes_ != changes_known_);
}

void Source::Prepare() {
  {
    MutexLock lock(mutex_);
    if (!IsDue(MonotonicClock::now())) return;
    discovering_ = true;
  }
  runtime::Runtime::Current()->Spawn([self = shared_from_this()] { self->Discover(); },
                                     /*here=*/true);
}

ToolList Source::Tools(const runtime::Cancellation& cancellation, Deadline deadline) {
  Prepare();
  deadline = std::min(deadline, DeadlineAfter(server_.discovery_timeout));
  MutexLock lock(mutex_);
  while (MustWait()) {
    const auto signal = std::make_shared<runtime::Signal>();
    waiting_.push_back(signal);
    lock.Unlock();
    const runtime::WakeReason reason = signal->Wait(&cancellation, deadline);
    lock.Lock();
    std::erase(waiting_, signal);
    if (reason != runtime::WakeReason::kNotified) break;
  }
  return tools_;
}

void Source::Discover() {
  uint64_t changes = 0;
  {
    MutexLock lock(mutex_);
    changes = changes_;
  }
  RunToEnd<Found>([&] { return Find(); },
                  [&](Result<Found> found) { Accept(std::move(found), changes); });
}

Result<Source::Found> Source::Find() {
  const WaitOptions wait{closing_, DeadlineAfter(server_.discovery_timeout)};
  AG_ASSIGN_OR_RETURN(const ListedTools listed, client_->ListTools(wait));
  Found found;
  found.tools = MakeTools(listed, found.problems);
  found.refresh = RefreshOf(listed);
  return found;
}

ToolList Source::MakeTools(const ListedTools& listed, std::vector<std::string>& problems) const {
  ToolList tools;
  std::set<std::string> names;
  for (const json& described : listed.tools) {
    std::string problem;
    CatalogToolPtr tool = MakeTool(described, listed.marks_headers, problem);
    if (tool != nullptr && !names.insert(tool->tool.name).second) {
      problem = "two tools are named " + tool->tool.name;
      tool = nullptr;
    }
    if (!problem.empty()) problems.push_back(std::move(problem));
    if (tool == nullptr) continue;
    if (tools.size() == kToolsMax) {
      problems.push_back("more than " + std::to_string(kToolsMax) + " tools");
      break;
    }
    tools.push_back(std::move(tool));
  }
  return tools;
}

void Source::Accept(Result<Found> result, uint64_t changes) {
  const Status failure = result.status();
  Found found = result.ok() ? *std::move(result) : Found();
  const bool listen = failure.ok() && client_->wants_listener();
  bool log_failure = false;
  bool log_recovery = false;
  bool start_listening = false;
  std::chrono::milliseconds listen_delay{0};
  std::vector<std::shared_ptr<runtime::Signal>> waiting;
  {
    MutexLock lock(mutex_);
    log_failure = !failure.ok() && !failing_;
    log_recovery = failure.ok() && failing_;
    failing_ = !failure.ok();
    retry_delay_ = failure.ok() ? std::chrono::milliseconds(0) : LongerDelay(retry_delay_);
    due_ = DeadlineAfter(failure.ok() ? found.refresh : retry_delay_);
    tools_ = std::move(found.tools);
    known_ = true;
    changes_known_ = changes;
    discovering_ = false;
    start_listening = listen && !listening_ && !closing_.cancelled();
    listening_ = listening_ || start_listening;
    listen_delay = listen_delay_;
    waiting.swap(waiting_);
  }
  for (const auto& signal : waiting) signal->Notify();
  if (closing_.cancelled()) return;
  if (log_failure) {
    Log(LogLevel::kWarning, "contributes no tools: " + failure.ToString());
  }
  if (log_recovery) Log(LogLevel::kInfo, "contributes its tools again");
  for (size_t i = 0; i < std::min(found.problems.size(), kProblemsLogged); ++i) {
    Log(LogLevel::kWarning, found.problems[i]);
  }
  if (found.problems.size() > kProblemsLogged) {
    Log(LogLevel::kWarning,
        "and " + std::to_string(found.problems.size() - kProblemsLogged) + " more such problems");
  }
  if (start_listening) ListenInBackground(listen_delay);
}

// The server may state a shorter validity than the graph's refresh interval.
std::chrono::milliseconds Source::RefreshOf(const ListedTools& listed) const {
  if (listed.fresh.count() == 0) return server_.refresh;
  return std::min(server_.refresh, std::max(listed.fresh, kRefreshMin));
}

CatalogToolPtr Source::MakeTool(const json& described, bool marks_headers,
                                std::string& problem) const {
  Result<Tool> tool = ToTool(described, server_.prefix);
  if (!tool.ok()) {
    problem = tool.status().message();
    return nullptr;
  }
  const auto name = described.at("name").get<std::string>();
  const auto& wanted = server_.tools;
  if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) {
    return nullptr;
  }
  Result<ParameterHeaders> headers =
      marks_headers ? ParameterHeaders::Read(described.value("inputSchema", json()))
                    : ParameterHeaders();
  if (!headers.ok()) {
    problem = "tool " + tool->name + " is left out: " + headers.status().message();
    return nullptr;
  }
  tool->execution = Execution::kNonBlocking;  // it suspends the fiber while it waits
  tool->timeout = server_.timeout;
  tool->tags = server_.tags;
  ServersTool own{.name = name,
                  .headers = *std::move(headers),
                  .may_repeat = tool->idempotent || server_.elicitation == Elicitation::kRepeat};
  tool->function = [client = client_, server = server_, own = std::move(own)](
                       const json& arguments, ToolContext& context) {
    return Call(*client, server, own, arguments, context);
  };
  auto result = std::make_shared<CatalogTool>();
  // If the schema cannot be compiled, only the server checks the arguments.
  if (auto schema = JsonSchema::Compile(tool->parameters_json); schema.ok()) {
    result->schema = *std::move(schema);
  }
  result->tool = *std::move(tool);
  result->origin = ToolOrigin::kMcp;
  return result;
}

// One fiber, which ends when the server stops offering a stream; discovery starts it again.
void Source::ListenInBackground(std::chrono::milliseconds delay) {
  runtime::Runtime::Current()->Spawn(
      [self = shared_from_this(), delay] {
        RunToEnd<bool>([&] { return self->ListenAfter(delay); },
                       [&](const Result<bool>& opened) { self->StopListening(opened); });
      },
      /*here=*/true);
}

// Returns true if a stream was open; kNotFound if the server has none.
Result<bool> Source::ListenAfter(std::chrono::milliseconds delay) {
  if (delay.count() > 0) {
    AG_RETURN_IF_ERROR(runtime::SleepFor(delay, &closing_));
    // The tools may have changed since they were listed.
    if (client_->announces_changes()) MarkChanged();
  }
  bool was_open = false;
  const Status status = ListenOn(was_open);
  if (status.code() == StatusCode::kNotFound) return status;
  return was_open;
}

void Source::StopListening(const Result<bool>& opened) {
  MutexLock lock(mutex_);
  listening_ = false;
  // If the server has no such stream, it is not opened again. In all other cases changes may have
  // been missed.
  const bool is_missing = opened.status().code() == StatusCode::kNotFound;
  if (is_missing && !client_->wants_listener()) return;
  listen_delay_ = opened.ok() && *opened ? kRetryDelayMin : LongerDelay(listen_delay_);
  if (client_->announces_changes()) ++changes_;
}

Status Source::ListenOn(bool& was_open) {
  for (std::chrono::milliseconds longer{0};;) {
    const Deadline began = MonotonicClock::now();
    const Result<std::chrono::milliseconds> pause = client_->Listen({closing_, kNoDeadline});
    if (!pause.ok()) return pause.status();
    was_open = true;
    const bool was_short = MonotonicClock::now() - began < kShortStream;
    longer = was_short ? std::min(std::max(*pause, longer * 2), kListenPauseMax) : *pause;
    AG_RETURN_IF_ERROR(runtime::SleepFor(std::max(longer, *pause), &closing_));
  }
}

void Source::MarkChanged() {
  MutexLock lock(mutex_);
  if (known_) ++changes_;
}

void Source::Close(runtime::Runtime& runtime) {
  closing_.Cancel(runtime::CancelReason::kShutdown);
  runtime.Spawn([self = shared_from_this()] {
    const runtime::Cancellation never;
    self->client_->End({never, DeadlineAfter(kEndTimeout)});
  });
}

void Source::Log(LogLevel level, const std::string& text) const {
  if (*log_) (*log_)(level, "MCP server " + server_.name + ": " + text);
}

}  // namespace agent_graph::tools::mcp
