#include "tools/mcp/stdio/stdio_session.h"

#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/json.h"
#include "runtime/runtime.h"
#include "tools/mcp/protocol/json_rpc.h"

namespace agent_graph::tools::mcp {
namespace {

constexpr size_t kFloodBytes = 32 * 1024;  // a read of this size is followed by a pause
constexpr std::chrono::milliseconds kFloodPause{20};
// maximum wait for the program's exit to be reported
constexpr std::chrono::seconds kExitTimeout{3};
// maximum time for which the program may read nothing
constexpr std::chrono::seconds kWriteTimeout{60};

}  // namespace

StdioSession::StdioSession(std::unique_ptr<process::Process> program, Events events)
    : program_(std::move(program)),
      events_(std::move(events)),
      errors_([this](const std::string& line) { events_.log(LogLevel::kInfo, "says: " + line); }),
      noise_([this](const std::string& line) {
        events_.log(LogLevel::kWarning, "wrote a line that is not a message: " + line);
      }) {}

StdioSession::~StdioSession() = default;

void StdioSession::Run() {
  runtime::Runtime* const runtime = runtime::Runtime::Current();
  runtime->Spawn([self = shared_from_this()] { self->WriteInput(); }, /*here=*/true);
  runtime->Spawn([self = shared_from_this()] { self->ReadErrors(); }, /*here=*/true);
  runtime->Spawn([self = shared_from_this()] { self->ReadOutput(); }, /*here=*/true);
}

Result<RpcReply> StdioSession::Request(const char* method, const json& params,
                                       const WaitOptions& wait) {
  runtime::Promise<json> promise;
  int64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (closed_) return Ended();
    if (pending_.size() >= kPendingRequestsMax) {
      return Status(StatusCode::kUnavailable, "too many calls wait for the server");
    }
    id = next_id_++;
    pending_.emplace(id, promise);
  }
  Status sent = Send(MakeRequest(id, method, params));
  Result<json> reply =
      sent.ok() ? promise.Wait(&wait.cancellation, wait.deadline) : Result<json>(std::move(sent));
  {
    MutexLock lock(mutex_);
    pending_.erase(id);
  }
  if (!reply.ok()) {
    (void)Notify("notifications/cancelled", {{"requestId", id}, {"reason", "the caller gave up"}});
    return reply.status();
  }
  if (reply->is_null()) {
    MutexLock lock(mutex_);
    return Ended();
  }
  return ReadReply(*std::move(reply));
}

void StdioSession::SetFacts(ServerFacts facts) {
  MutexLock lock(mutex_);
  facts_ = std::move(facts);
}

ServerFacts StdioSession::facts() const {
  MutexLock lock(mutex_);
  return facts_;
}

bool StdioSession::ended() const {
  MutexLock lock(mutex_);
  return closed_;
}

Status StdioSession::Notify(const char* method, const json& params) {
  return Send(MakeNotification(method, params));
}

Status StdioSession::Send(const json& message) {
  const std::string text = DumpJson(message);
  MutexLock lock(mutex_);
  if (closed_) return Ended();
  if (outgoing_.size() + text.size() > kOutgoingBytesMax) {
    return Status(StatusCode::kUnavailable, "the server does not read its input");
  }
  outgoing_.append(text).push_back('\n');
  has_outgoing_.Notify();
  return Status::Ok();
}

void StdioSession::WriteInput() {
  for (;;) {
    if (has_outgoing_.Wait(&ending_, kNoDeadline) != runtime::WakeReason::kNotified) break;
    std::string bytes;
    {
      MutexLock lock(mutex_);
      bytes.swap(outgoing_);
    }
    if (bytes.empty()) continue;
    if (!program_->Write(bytes, ending_, DeadlineAfter(kWriteTimeout)).ok()) break;
  }
  program_->CloseInput();
  End();
}

void StdioSession::ReadErrors() {
  for (;;) {
    Result<std::string> bytes = program_->ReadErrors(ending_, kNoDeadline);
    if (!bytes.ok() || bytes->empty()) return;
    errors_.Feed(*bytes);
    // Slow down a program that writes without end, so that it does not occupy the engine thread.
    if (bytes->size() < kFloodBytes) continue;
    if (!runtime::SleepFor(kFloodPause, &ending_).ok()) return;
  }
}

void StdioSession::ReadOutput() {
  std::string buffer;
  std::string how;
  for (;;) {
    Result<std::string> bytes = program_->ReadOutput(ending_, kNoDeadline);
    if (!bytes.ok() || bytes->empty()) break;
    size_t searched = buffer.size();
    buffer += *bytes;
    size_t begin = 0;
    for (size_t end = buffer.find('\n', searched); end != std::string::npos;
         end = buffer.find('\n', begin)) {
      TakeLine(std::string_view(buffer).substr(begin, end - begin));
      begin = end + 1;
    }
    buffer.erase(0, begin);
    if (buffer.size() > kReplyBytesMax) {
      how =
          "was ended: it wrote a message of more than " + std::to_string(kReplyBytesMax) + " bytes";
      break;
    }
  }
  const runtime::Cancellation never;
  if (how.empty()) {
    const Result<process::ProcessEnd> end = program_->Wait(never, DeadlineAfter(kExitTimeout));
    how = end.ok() ? end->ToString() : "ended";
  }
  Close(how);
}

void StdioSession::TakeLine(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const Result<json> message = ParseJson(line);
  if (!message.ok() || !message->is_object()) return noise_.Line(line);
  if (const auto method = message->find("method"); method != message->end()) {
    if (message->contains("id")) {
      // Without sessions, programs send no requests and get no responses.
      if (facts().era == Era::kSession) (void)Send(MakeAnswer(*message));
    } else if (*method == kToolsChanged) {
      events_.on_tools_changed();
    }
    return;
  }
  const auto id = message->find("id");
  if (id == message->end() || !id->is_number_integer()) return;
  MutexLock lock(mutex_);
  const auto waiting = pending_.find(id->get<int64_t>());
  if (waiting != pending_.end()) waiting->second.Set(*message);
}

void StdioSession::End() {
  ending_.Cancel(runtime::CancelReason::kShutdown);
  program_->Kill();
}

void StdioSession::Close(const std::string& how) {
  std::vector<runtime::Promise<json>> waiting;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    how_it_ended_ = how;
    for (const auto& [id, promise] : pending_) waiting.push_back(promise);
  }
  for (const runtime::Promise<json>& promise : waiting) promise.Set(json());
  End();
  events_.on_end(shared_from_this(),
                 errors_.last().empty() ? how : how + "; its last words: " + errors_.last());
}

Status StdioSession::Ended() const {
  return Status(StatusCode::kUnavailable, "the server's program " + how_it_ended_);
}

}  // namespace agent_graph::tools::mcp
