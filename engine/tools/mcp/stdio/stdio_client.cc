#include "tools/mcp/stdio/stdio_client.h"

#include <algorithm>
#include <utility>

#include "agent_graph/json.h"
#include "base/environment.h"
#include "runtime/runtime.h"
#include "tools/mcp/protocol/background.h"
#include "tools/mcp/protocol/json_rpc.h"
#include "tools/mcp/stdio/stdio_session.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr std::chrono::milliseconds kPauseMin{1'000};
constexpr std::chrono::milliseconds kPauseMax{60'000};
// A program that ran for this long is restarted without delay.
constexpr std::chrono::seconds kLongLife{60};
constexpr std::chrono::milliseconds kSubscribeAgain{1'000};

}  // namespace

StdioClient::StdioClient(Options options, std::shared_ptr<const process::Launcher> launcher)
    : options_(std::move(options)), launcher_(std::move(launcher)) {}

StdioClient::~StdioClient() = default;

Result<std::chrono::milliseconds> StdioClient::Listen(const WaitOptions&) {
  return Status(StatusCode::kNotFound, "the session reports changes by itself");
}

Result<RpcReply> StdioClient::Request(const Outgoing& outgoing, const WaitOptions& wait) {
  Result<RpcReply> reply = RequestOnce(outgoing, wait);
  if (reply.ok()) return reply;
  std::string text = reply.status().message();
  BlotOut(options_.secrets, text);
  return Status(reply.status().code(), std::move(text));
}

Result<RpcReply> StdioClient::RequestOnce(const Outgoing& outgoing, const WaitOptions& wait) {
  AG_ASSIGN_OR_RETURN(const SessionPtr session, Connect(wait));
  json params = outgoing.params;
  if (session->facts().era == Era::kStateless) {
    AddRequestMeta(params, outgoing.may_pause ? ElicitationCapability() : json::object());
  }
  return session->Request(outgoing.method, params, outgoing.memory, wait);
}

// The start runs on a separate fiber and continues if the caller cancels.
Result<StdioClient::SessionPtr> StdioClient::Connect(const WaitOptions& wait) {
  for (;;) {
    const auto started = std::make_shared<runtime::Signal>();
    {
      MutexLock lock(mutex_);
      if (session_ != nullptr) return session_;
      if (ending_.cancelled())
        return Status(StatusCode::kUnavailable, "the service is shutting down");
      if (!starting_ && MonotonicClock::now() < not_before_) {
        return failure_.ok() ? Status(StatusCode::kUnavailable, "the server's program has ended")
                             : failure_;
      }
      waiting_.push_back(started);
      if (!std::exchange(starting_, true)) StartInBackground();
    }
    const runtime::WakeReason reason = started->Wait(&wait.cancellation, wait.deadline);
    MutexLock lock(mutex_);
    std::erase(waiting_, started);
    AG_RETURN_IF_ERROR(runtime::WakeStatus(reason, &wait.cancellation));
    if (session_ == nullptr && !failure_.ok()) return failure_;
  }
}

void StdioClient::StartInBackground() {
  runtime::Runtime::Current()->Spawn(
      [self = shared_from_this()] {
        RunToEnd<SessionPtr>(
            [&] { return self->StartSession(); },
            [&](Result<SessionPtr> session) { self->Started(std::move(session)); });
      },
      /*here=*/true);
}

Result<StdioClient::SessionPtr> StdioClient::StartSession() {
  const WaitOptions wait{ending_, DeadlineAfter(options_.start_timeout)};
  bool discover = options_.eras.stateless;
  if (options_.eras.session) {
    MutexLock lock(mutex_);
    discover = discover && !knows_sessions_;
  }
  AG_ASSIGN_OR_RETURN(SessionPtr session, StartProgram(wait));
  Status status = Introduce(*session, discover, wait);
  if (!status.ok() && session->ended() && discover && options_.eras.session) {
    // Some programs exit on any request before "initialize".
    AG_ASSIGN_OR_RETURN(session, StartProgram(wait));
    status = Introduce(*session, /*discover=*/false, wait);
  }
  {
    MutexLock lock(mutex_);
    knows_sessions_ = status.ok() && session->facts().era == Era::kSession;
  }
  if (!status.ok()) {
    session->End();
    return status;
  }
  if (session->facts().era == Era::kStateless && session->facts().announces_changes) {
    runtime::Runtime::Current()->Spawn(
        [self = shared_from_this(), session] { self->Subscribe(session); }, /*here=*/true);
  }
  return session;
}

Result<StdioClient::SessionPtr> StdioClient::StartProgram(const WaitOptions& wait) {
  AG_ASSIGN_OR_RETURN(std::unique_ptr<process::Process> program,
                      launcher_->Start(options_.program, wait.cancellation, wait.deadline));
  StdioSession::Events events;
  events.secrets = options_.secrets;
  events.on_tools_changed = options_.on_tools_changed;
  events.log = [self = shared_from_this()](LogLevel level, const std::string& text) {
    self->Log(level, text);
  };
  events.on_end = [self = shared_from_this()](const SessionPtr& session, const std::string& how) {
    self->SessionEnded(session, how);
  };
  auto session = std::make_shared<StdioSession>(std::move(program), std::move(events));
  session->Run();
  return session;
}

// A program of the session era may leave "server/discover" unanswered, so half of the time is
// reserved for "initialize". A program that was slow to start rejects that request, and is asked
// again.
Status StdioClient::Introduce(StdioSession& session, bool discover, const WaitOptions& wait) {
  if (!discover) return Initialize(session, wait);
  if (!options_.eras.session) {
    AG_ASSIGN_OR_RETURN(const bool stateless, Discover(session, wait));
    if (stateless) return Status::Ok();
    return Status(StatusCode::kUnavailable,
                  "the server does not speak " + std::string(kStatelessRevision));
  }
  const Deadline now = MonotonicClock::now();
  const Result<bool> stateless =
      Discover(session, {wait.cancellation, now + (wait.deadline - now) / 2});
  if (stateless.ok() && *stateless) return Status::Ok();
  const bool silent = stateless.status().code() == StatusCode::kDeadlineExceeded;
  if (!stateless.ok() && !silent) return stateless.status();
  Status status = Initialize(session, wait);
  if (!silent || status.code() != StatusCode::kInvalidArgument) return status;
  const Result<bool> late = Discover(session, wait);
  return late.ok() && *late ? Status::Ok() : status;
}

Result<bool> StdioClient::Discover(StdioSession& session, const WaitOptions& wait) {
  for (bool again = false;; again = true) {
    json params = json::object();
    AddRequestMeta(params);
    AG_ASSIGN_OR_RETURN(const RpcReply reply, session.Request(kDiscover, params, nullptr, wait));
    if (reply.error && reply.error->code == kUnsupportedRevision) {
      const std::optional<Era> era = ChooseEra(SupportedRevisions(*reply.error));
      if (!era) {
        return Status(StatusCode::kUnavailable,
                      "the server speaks another version of the protocol");
      }
      if (*era == Era::kSession || again) return false;
      continue;  // it supports this revision, whatever it rejected
    }
    if (reply.error) return false;
    const Result<ServerFacts> facts = ReadDiscoverResult(reply.result);
    if (!facts.ok() || facts->era != Era::kStateless) return false;
    session.SetFacts(*facts);
    return true;
  }
}

Status StdioClient::Initialize(StdioSession& session, const WaitOptions& wait) {
  // No elicitation capability: all calls share the program, and its questions do not name their
  // call.
  AG_ASSIGN_OR_RETURN(
      const RpcReply reply,
      session.Request(kInitialize, InitializeParams(json::object()), nullptr, wait));
  if (reply.error) return reply.error->ToStatus();
  AG_ASSIGN_OR_RETURN(const ServerFacts facts, ReadInitializeResult(reply.result));
  session.SetFacts(facts);
  return session.Notify(kInitialized, nullptr);
}

void StdioClient::Subscribe(const SessionPtr& session) {
  for (;;) {
    json params = {{"notifications", {{"toolsListChanged", true}}}};
    AddRequestMeta(params);
    const Result<RpcReply> ended =
        session->Request(kListen, params, nullptr, {ending_, kNoDeadline});
    if (!ended.ok() || ended->error) return;
    if (!runtime::SleepFor(kSubscribeAgain, &ending_).ok()) return;
    options_.on_tools_changed();  // tools may have changed meanwhile
  }
}

void StdioClient::Started(Result<SessionPtr> session) {
  std::vector<std::shared_ptr<runtime::Signal>> waiting;
  {
    MutexLock lock(mutex_);
    starting_ = false;
    // SessionEnded has been called for such a session, when it was not known here yet.
    if (session.ok() && (*session)->ended()) {
      session = Unavailable("the server's program has ended");
    }
    failure_ = session.status();
    if (session.ok()) {
      session_ = *std::move(session);
      session_began_ = MonotonicClock::now();
    } else {
      pause_ = std::clamp(pause_ * 2, kPauseMin, kPauseMax);
      not_before_ = DeadlineAfter(pause_);
    }
    waiting.swap(waiting_);
  }
  for (const auto& signal : waiting) signal->Notify();
}

void StdioClient::SessionEnded(const SessionPtr& session, const std::string& how) {
  {
    MutexLock lock(mutex_);
    if (session_ != session) return;  // its start reports the failure
    session_ = nullptr;
    const bool long_life = MonotonicClock::now() - session_began_ >= kLongLife;
    pause_ =
        long_life ? std::chrono::milliseconds(0) : std::clamp(pause_ * 2, kPauseMin, kPauseMax);
    not_before_ = DeadlineAfter(pause_);
  }
  if (ending_.cancelled()) return;
  Log(LogLevel::kWarning, "its program " + how);
  options_.on_tools_changed();
}

void StdioClient::End(const WaitOptions&) {
  ending_.Cancel(runtime::CancelReason::kShutdown);
  SessionPtr session;
  {
    MutexLock lock(mutex_);
    session = std::exchange(session_, nullptr);
  }
  if (session != nullptr) session->End();
}

void StdioClient::Log(LogLevel level, std::string text) const {
  BlotOut(options_.secrets, text);
  options_.log(level, text);
}

}  // namespace agent_graph::tools::mcp
