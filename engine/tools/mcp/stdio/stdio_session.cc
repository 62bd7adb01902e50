#include "tools/mcp/stdio/stdio_session.h"

#include <utility>
#include <vector>

#include "agent_graph/json.h"
#include "base/free_memory.h"
#include "base/json.h"
#include "runtime/large_work.h"
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

// The members of a message that are neither objects nor lists; discarded if it is no JSON.
json FlatMembers(std::string_view line) {
  const auto is_flat = [](int depth, json::parse_event_t event, json&) {
    return depth == 0 || (event != json::parse_event_t::object_start &&
                          event != json::parse_event_t::array_start);
  };
  return json::parse(line.begin(), line.end(), is_flat, /*allow_exceptions=*/false);
}

// Waits for the memory of a reply, and parses it.
Result<RpcReply> Read(std::string& line, ReplyMemory* memory) {
  ReplySize size(memory);
  AG_RETURN_IF_ERROR(size.Add(line));
  Result<json> message = json();
  runtime::RunSized(line.size(), [&] { message = ParseJson(line); });
  if (!message.ok()) {
    return Status(StatusCode::kUnavailable,
                  "the server's reply cannot be read: " + message.status().message());
  }
  FreeMemory(line);
  return ReadReply(*std::move(message));
}

}  // namespace

StdioSession::StdioSession(std::unique_ptr<process::Process> program, Events events)
    : program_(std::move(program)),
      events_(std::move(events)),
      errors_(events_.secrets,
              [this](const std::string& line) { events_.log(LogLevel::kInfo, "says: " + line); }),
      noise_(events_.secrets, [this](const std::string& line) {
        events_.log(LogLevel::kWarning, "wrote a line that is not a message: " + line);
      }) {}

StdioSession::~StdioSession() = default;

void StdioSession::Run() {
  runtime::Runtime* const runtime = runtime::Runtime::Current();
  runtime->Spawn([self = shared_from_this()] { self->WriteInput(); }, /*here=*/true);
  runtime->Spawn([self = shared_from_this()] { self->ReadErrors(); }, /*here=*/true);
  runtime->Spawn([self = shared_from_this()] { self->ReadOutput(); }, /*here=*/true);
}

// Reports that a reply was taken, also if reading it throws.
class StdioSession::TakenAtEnd {
 public:
  TakenAtEnd(StdioSession& session, size_t line_bytes)
      : session_(session), line_bytes_(line_bytes) {}
  TakenAtEnd(const TakenAtEnd&) = delete;
  TakenAtEnd& operator=(const TakenAtEnd&) = delete;
  ~TakenAtEnd() { session_.Taken(line_bytes_); }

 private:
  StdioSession& session_;
  const size_t line_bytes_;
};

Result<RpcReply> StdioSession::Request(const char* method, const json& params, ReplyMemory* memory,
                                       const WaitOptions& wait) {
  const runtime::Promise<std::string> promise;
  int64_t id = 0;
  {
    MutexLock lock(mutex_);
    if (closed_) return Ended();
    if (pending_.size() >= kPendingRequestsMax) {
      return Status(StatusCode::kUnavailable, "too many calls wait for the server");
    }
    id = next_id_++;
    pending_.emplace(id, Pending{promise});
  }
  Result<std::string> line = Await(id, promise, Send(MakeRequest(id, method, params)), wait);
  if (!line.ok()) return line.status();
  const TakenAtEnd taken(*this, line->size());
  Result<RpcReply> reply = Read(*line, memory);
  if (reply.ok() && reply->error) reply->error->CleanMessage(events_.secrets);
  return reply;
}

Result<std::string> StdioSession::Await(int64_t id, const runtime::Promise<std::string>& promise,
                                        Status sent, const WaitOptions& wait) {
  Result<std::string> line = sent.ok() ? promise.Wait(&wait.cancellation, wait.deadline)
                                       : Result<std::string>(std::move(sent));
  size_t line_bytes = 0;
  {
    MutexLock lock(mutex_);
    line_bytes = pending_.at(id).line_bytes;
    pending_.erase(id);
    if (line.ok() && line->empty()) return Ended();
  }
  if (!line.ok()) {
    Taken(line_bytes);
    (void)Notify("notifications/cancelled", {{"requestId", id}, {"reason", "the caller gave up"}});
  }
  return line;
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
    const size_t searched = buffer.size();
    buffer += *bytes;
    const bool is_useless = TakeLines(buffer, searched);
    if (buffer.size() > kReplyBytesMax) {
      how =
          "was ended: it wrote a message of more than " + std::to_string(kReplyBytesMax) + " bytes";
      break;
    }
    // Programs that log to standard output by mistake are slowed down, too. Replies are not.
    if (!is_useless || bytes->size() < kFloodBytes) continue;
    if (!runtime::SleepFor(kFloodPause, &ending_).ok()) break;
  }
  const runtime::Cancellation never;
  if (how.empty()) {
    const Result<process::ProcessEnd> end = program_->Wait(never, DeadlineAfter(kExitTimeout));
    how = end.ok() ? end->ToString() : "ended";
  }
  Close(how);
}

bool StdioSession::TakeLines(std::string& buffer, size_t searched) {
  size_t begin = 0;
  bool has_reply = false;
  for (size_t end = buffer.find('\n', searched); end != std::string::npos;
       end = buffer.find('\n', begin)) {
    if (TakeLine(std::string_view(buffer).substr(begin, end - begin))) has_reply = true;
    begin = end + 1;
  }
  buffer.erase(0, begin);
  return begin > 0 && !has_reply;
}

bool StdioSession::TakeLine(std::string_view line) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return false;
  json members;
  runtime::RunSized(line.size(), [&] { members = FlatMembers(line); });
  if (!members.is_object()) {
    noise_.Line(line);
    return false;
  }
  if (members.contains("method")) {
    TakeMessage(line);
    return false;
  }
  const auto id = members.find("id");
  return id != members.end() && id->is_number_integer() && PassReply(id->get<int64_t>(), line);
}

void StdioSession::TakeMessage(std::string_view line) {
  Result<json> message = json();
  runtime::RunSized(line.size(), [&] { message = ParseJson(line); });
  if (!message.ok() || !message->is_object()) return noise_.Line(line);
  if (message->contains("id")) {
    // Without sessions, programs send no requests and get no responses.
    if (facts().era == Era::kSession) (void)Send(MakeAnswer(*message));
  } else if (message->value("method", json()) == kToolsChanged) {
    events_.on_tools_changed();
  }
}

bool StdioSession::PassReply(int64_t id, std::string_view line) {
  {
    MutexLock lock(mutex_);
    const auto waiting = pending_.find(id);
    if (waiting == pending_.end() || waiting->second.line_bytes > 0) return false;
    waiting->second.line_bytes = line.size();
    untaken_bytes_ += line.size();
    waiting->second.line.Set(std::string(line));
  }
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (untaken_bytes_ <= kUntakenBytesMax) return true;
    }
    if (taken_.Wait(&ending_, kNoDeadline) != runtime::WakeReason::kNotified) return true;
  }
}

void StdioSession::Taken(size_t line_bytes) {
  {
    MutexLock lock(mutex_);
    untaken_bytes_ -= line_bytes;
  }
  taken_.Notify();
}

void StdioSession::End() {
  ending_.Cancel(runtime::CancelReason::kShutdown);
  program_->Kill();
}

void StdioSession::Close(const std::string& how) {
  std::vector<runtime::Promise<std::string>> waiting;
  {
    MutexLock lock(mutex_);
    closed_ = true;
    how_it_ended_ = how;
    for (const auto& [id, pending] : pending_) waiting.push_back(pending.line);
  }
  for (const runtime::Promise<std::string>& promise : waiting) promise.Set({});
  End();
  events_.on_end(shared_from_this(),
                 errors_.last().empty() ? how : how + "; its last words: " + errors_.last());
}

Status StdioSession::Ended() const {
  return Status(StatusCode::kUnavailable, "the server's program " + how_it_ended_);
}

}  // namespace agent_graph::tools::mcp
