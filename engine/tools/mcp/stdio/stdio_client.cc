#include "tools/mcp/stdio_client.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/environment.h"
#include "runtime/runtime.h"
#include "tools/mcp/protocol.h"
#include "tools/mcp/stdio_session.h"

namespace agent_graph::tools::mcp {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kPauseMin{1'000};
constexpr std::chrono::milliseconds kPauseMax{60'000};
// A program that ran for so long is started again at once.
constexpr std::chrono::seconds kLongLife{60};

}  // namespace

StdioClient::StdioClient(Options options, std::shared_ptr<const process::Launcher> launcher)
    : options_(std::move(options)), launcher_(std::move(launcher)) {}

StdioClient::~StdioClient() = default;

Status StdioClient::Listen(const Patience&) {
  return Status(StatusCode::kNotFound, "the session hears of changes by itself");
}

Result<json> StdioClient::Request(const char* method, const json& params,
                                  const Patience& patience) {
  AG_ASSIGN_OR_RETURN(const SessionPtr session, Connect(patience));
  Result<json> result = session->Request(method, params, patience);
  if (result.ok()) return result;
  std::string text = result.status().message();
  BlotOut(options_.secrets, text);
  return Status(result.status().code(), std::move(text));
}

// The start itself goes on without the caller, who may give up.
Result<StdioClient::SessionPtr> StdioClient::Connect(const Patience& patience) {
  for (;;) {
    const auto started = std::make_shared<runtime::Signal>();
    {
      std::lock_guard lock(mutex_);
      if (session_ != nullptr) return session_;
      if (ending_.cancelled()) return Status(StatusCode::kUnavailable, "the service is leaving");
      if (!starting_ && MonotonicClock::now() < not_before_) {
        return failure_.ok() ? Status(StatusCode::kUnavailable, "the server's program has ended")
                             : failure_;
      }
      waiting_.push_back(started);
      if (!std::exchange(starting_, true)) StartInBackground();
    }
    const runtime::WakeReason reason = started->Wait(&patience.cancellation, patience.deadline);
    std::lock_guard lock(mutex_);
    std::erase(waiting_, started);
    AG_RETURN_IF_ERROR(runtime::WakeStatus(reason, &patience.cancellation));
    if (session_ == nullptr && !failure_.ok()) return failure_;
  }
}

void StdioClient::StartInBackground() {
  runtime::Runtime::Current()->Spawn(
      [self = shared_from_this()] { self->Started(self->StartSession()); }, /*here=*/true);
}

Result<StdioClient::SessionPtr> StdioClient::StartSession() {
  const Patience patience{ending_, DeadlineAfter(options_.start_timeout)};
  AG_ASSIGN_OR_RETURN(std::unique_ptr<process::Process> program,
                      launcher_->Start(options_.program, patience.cancellation, patience.deadline));
  StdioSession::Events events;
  events.on_tools_changed = options_.on_tools_changed;
  events.log = [self = shared_from_this()](LogLevel level, const std::string& text) {
    self->Log(level, text);
  };
  events.on_end = [self = shared_from_this()](const SessionPtr& session, const std::string& how) {
    self->SessionEnded(session, how);
  };
  auto session = std::make_shared<StdioSession>(std::move(program), std::move(events));
  session->Run();
  Result<json> answer = session->Request("initialize", InitializeParams(), patience);
  Status status = answer.ok() ? ReadInitializeResult(*answer).status() : answer.status();
  if (status.ok()) status = session->Notify("notifications/initialized", nullptr);
  if (status.ok()) return session;
  session->End();
  return status;
}

void StdioClient::Started(Result<SessionPtr> session) {
  std::vector<std::shared_ptr<runtime::Signal>> waiting;
  {
    std::lock_guard lock(mutex_);
    starting_ = false;
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
    std::lock_guard lock(mutex_);
    if (session_ != session) return;  // its start tells
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

void StdioClient::End(const Patience&) {
  ending_.Cancel(runtime::CancelReason::kShutdown);
  SessionPtr session;
  {
    std::lock_guard lock(mutex_);
    session = std::exchange(session_, nullptr);
  }
  if (session != nullptr) session->End();
}

void StdioClient::Log(LogLevel level, std::string text) const {
  BlotOut(options_.secrets, text);
  options_.log(level, text);
}

}  // namespace agent_graph::tools::mcp
