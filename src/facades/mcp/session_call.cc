#include "facades/mcp/session_call.h"

#include <optional>
#include <utility>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/own_json.h"
#include "base/sha256.h"
#include "facades/mcp/call_reader.h"
#include "facades/mcp/call_writer.h"
#include "facades/mcp/errors.h"
#include "facades/mcp/paused_run.h"
#include "facades/mcp/request_headers.h"
#include "facades/mcp/session.h"
#include "facades/run/facade_run.h"
#include "state/runs.h"
#include "state/service.h"

namespace agent_graph::mcp {
namespace {

using api::HandlerContext;

constexpr char kCallRoute[] = "mcp call";
// Runs of one call: each question of the graph begins another one.
constexpr uint64_t kRunsMax = 64;
constexpr std::string_view kGoesOn =
    "The server has ended this call, but the agent goes on. To ask for its answer, call this tool "
    "again with this thread_id: ";

// Position of a client in the stream of a call. Sealed, it is the id of an event.
struct StreamPlace {
  std::string id_json;              // the id of the call
  std::string progress_token_json;  // as in ToolCall
  std::string thread_id;
  std::string run_id;
  uint64_t run = 0;     // number of this run among those of the call
  uint64_t events = 0;  // events of this run that the client has
};

std::string EventPurpose(const Peer& peer) {
  return "event " + peer.session;
}

Result<std::string> EventIdOf(HandlerContext& context, const Peer& peer, const StreamPlace& place) {
  const json value = {place.id_json,   place.progress_token_json,
                      place.thread_id, place.run_id,
                      place.run,       place.events};
  return SealFor(context, EventPurpose(peer), DumpJson(value));
}

Result<std::optional<StreamPlace>> ReadEventId(HandlerContext& context, const Peer& peer,
                                               std::string_view event_id) {
  AG_ASSIGN_OR_RETURN(const std::optional<std::string> payload,
                      UnsealFor(context, EventPurpose(peer), event_id));
  if (!payload) return std::optional<StreamPlace>();
  AG_ASSIGN_OR_RETURN(const json value, ParseJson(*payload, kOwnJsonLimits));
  return std::optional(StreamPlace{value.at(0).get<std::string>(), value.at(1).get<std::string>(),
                                   value.at(2).get<std::string>(), value.at(3).get<std::string>(),
                                   value.at(4).get<uint64_t>(), value.at(5).get<uint64_t>()});
}

std::string KeyOfRun(const std::string& call_key, uint64_t run) {
  return call_key + ':' + std::to_string(run);
}

Status StopRun(HandlerContext& context, const std::string& thread_id, const std::string& run_id) {
  return context.state()
      .RequestStop({context.caller().scope, thread_id, /*cancel=*/true, run_id})
      .status();
}

// Returns the last run of a call; nullopt: there is no such call, or it was deleted with its
// thread.
Result<std::optional<state::RunRecord>> FindLastRun(HandlerContext& context,
                                                    const std::string& key) {
  std::optional<state::KeyRecord> last;
  for (uint64_t run = 0; run <= kRunsMax; ++run) {
    Result<state::KeyRecord> found =
        context.state().FindKey({context.caller().user_id, kCallRoute, KeyOfRun(key, run)});
    if (found.status().code() == StatusCode::kNotFound) break;
    AG_RETURN_IF_ERROR(found.status());
    last = *std::move(found);
  }
  std::optional<state::RunRecord> run;
  if (!last) return run;
  Result<state::RunRecord> found =
      context.state().GetRun({context.caller().scope, last->thread_id, last->run_id});
  if (found.status().code() == StatusCode::kNotFound) return run;
  AG_RETURN_IF_ERROR(found.status());
  run = *std::move(found);
  return run;
}

// True if a call with this key has ended. One that waits for its user has not: its request may have
// been sent again.
Result<bool> HasEnded(HandlerContext& context, const std::string& key) {
  AG_ASSIGN_OR_RETURN(const std::optional<state::RunRecord> run, FindLastRun(context, key));
  return run && state::HasEnded(run->state) && run->state != state::RunState::kInterrupted;
}

// A call while a request sends its stream.
class SessionCall {
 public:
  SessionCall(HandlerContext& context, const Peer& peer, StreamPlace place, bool stream)
      : context_(context),
        peer_(peer),
        place_(std::move(place)),
        key_(CallKey(peer, place_.id_json)),
        writer_(context, place_.id_json, stream) {}

  // `digest`: digest of the arguments that the client has sent. `call`: the request to answer if
  // the run cannot begin.
  void Begin(const Call& call, const std::string& digest, api::GraphRequest request) {
    // A client that has reopened its session may count its ids from the beginning. The answer of
    // the earlier call would be taken for that of this one.
    const Result<bool> ended = HasEnded(context_, key_);
    if (!ended.ok()) return SendFailure(call, ended.status());
    if (*ended) {
      return SendError(call, {kInvalidRequest, "id: the call of this session with it has ended"});
    }
    Perform(digest, std::move(request));
    if (error_ && !writer_.begun() && !Goes(*error_)) return SendFailedCall(call, *error_);
    AnswerCall();
  }

  void Resume() {
    resumed_ = true;
    if (const Status sent = writer_.SendComment(); !sent.ok()) return writer_.Leave();
    Read({place_.thread_id, place_.run_id}, place_.events);
    AnswerCall();
  }

 private:
  class Reader : public CallReader {
   public:
    Reader(SessionCall& call, uint64_t skipped)
        : CallReader(call.context_, call.peer_, call.writer_, call.place_.progress_token_json,
                     facades::HeldBytes(&call.context_.exchange())),
          call_(call),
          skipped_(skipped) {}

    Status OnStart(const run::RunStart& start, const state::RunRecord* record) override {
      AG_RETURN_IF_ERROR(call_.OnRun(start, skipped_));
      return CallReader::OnStart(start, record);
    }

   private:
    SessionCall& call_;
    const uint64_t skipped_;
  };

  // Each passes the events of a run until it has ended. Sets `reader_` and `error_`.
  void Perform(const std::string& digest, api::GraphRequest request) {
    facades::FacadeRun run{.request = std::move(request), .wants_deltas = false};
    run.terms.accepted = true;
    run.terms.key = state::RunKey{kCallRoute, KeyOfRun(key_, place_.run), digest};
    error_ = facades::PerformRun(context_, std::move(run), reader_.emplace(*this, 0));
  }
  void Read(const api::RunName& run, uint64_t skipped) {
    error_ = facades::ReadRun(context_, run, {}, reader_.emplace(*this, skipped));
  }

  // Called when the ids of the run are known. `skipped`: events that the client has.
  Status OnRun(const run::RunStart& start, uint64_t skipped) {
    place_.thread_id = start.thread_id;
    place_.run_id = start.run_id;
    // The client may have cancelled the call before the run had its key.
    AG_ASSIGN_OR_RETURN(cancelled_, IsCancelled(context_, key_));
    if (cancelled_) AG_RETURN_IF_ERROR(StopRun(context_, place_.thread_id, place_.run_id));
    if (!writer_.streams()) return Status::Ok();
    writer_.NumberEvents(
        [this](uint64_t count) {
          StreamPlace place = place_;
          place.events = count;
          return EventIdOf(context_, peer_, place);
        },
        skipped);
    const bool is_first = place_.run == 0 && !writer_.begun();
    return is_first && peer_.resumes_from_start() ? writer_.SendFirst() : Status::Ok();
  }

  // True if the connection or this worker ends but the run goes on.
  bool Goes(const api::ErrorInfo& error) const {
    return error.error == api::ApiError::kShuttingDown ||
           context_.exchange().cancellation().cancelled();
  }

  // Ends the exchange of a run that has not ended. A client that has no event to resume from would
  // wait for the response in vain.
  void Stop(const api::ErrorInfo& error) {
    if (!Goes(error)) return writer_.Fail(error);
    if (resumed_ || writer_.can_be_resumed()) return writer_.Leave();
    const bool is_heard =
        context_.exchange().cancellation().reason() != runtime::CancelReason::kClientGone;
    if (!is_heard || place_.run_id.empty()) return writer_.Fail(error);
    writer_.Finish('{' + FailedCall(std::string(kGoesOn) + place_.thread_id) + '}');
  }

  // Passes the further runs of the call, and ends the exchange. A loop: the fiber's stack has no
  // room for a frame per question.
  void AnswerCall() {
    while (!context_.exchange().ended()) Continue();
  }

  // Answers the call with the run that was read last, or lets the user answer what that run asks:
  // then the answer's run is the one that was read last.
  void Continue() {
    if (error_) return Stop(*error_);
    if (!cancelled_ && reader_->outcome() == run::RunStatus::kStopped) {
      const Result<bool> cancelled = IsCancelled(context_, key_);
      cancelled_ = cancelled.ok() && *cancelled;
    }
    if (cancelled_) return writer_.Leave();
    if (reader_->outcome() != run::RunStatus::kInterrupted || place_.run == kRunsMax) {
      return Finish();
    }
    if (!ContinueIfAnswered()) Ask();
  }

  // Goes on if the client has seen the question, and answered it, in another stream of this call.
  // Returns false if it has not.
  bool ContinueIfAnswered() {
    const Result<state::KeyRecord> answered = context_.state().FindKey(
        {context_.caller().user_id, kCallRoute, KeyOfRun(key_, place_.run + 1)});
    if (answered.status().code() == StatusCode::kNotFound) return false;
    if (!answered.ok()) {
      writer_.Fail(context_.Explain(answered.status()));
      return true;
    }
    ++place_.run;
    Read({answered->thread_id, answered->run_id}, 0);
    return true;
  }

  void Ask() {
    const Pause pause = ReadPause(reader_->interrupt_json());
    const bool asks = writer_.streams() && CanAsk(peer_, pause.questions);
    if (!asks) return Finish();
    const Result<std::vector<json>> answers =
        AskUser({context_, peer_, writer_, key_, place_.thread_id + ' ' + place_.run_id,
                 /*resumable=*/true},
                pause.questions);
    if (answers.status().code() == StatusCode::kCancelled) return writer_.Leave();
    if (!answers.ok()) return writer_.Fail(context_.Explain(answers.status()));
    std::optional<std::vector<Message>> messages = AnswerMessages(pause, *answers);
    if (!messages) return Finish();
    Answer(*answers, *std::move(messages));
  }

  void Answer(const std::vector<json>& answers, std::vector<Message> messages) {
    const Result<bool> waits = StillWaits(context_, place_.thread_id, place_.run_id);
    if (!waits.ok()) return writer_.Fail(context_.Explain(waits.status()));
    if (!*waits) {
      if (!ContinueIfAnswered()) writer_.Finish('{' + FailedCall(kNoLongerWaits) + '}');
      return;
    }
    api::GraphRequest request =
        AnswerRun(context_, place_.thread_id, place_.run_id, std::move(messages));
    ++place_.run;
    Perform(Sha256Hex(DumpSortedJson(answers)), std::move(request));
    const bool refused = error_ && !Goes(*error_) && RpcErrorOf(*error_).status < 500;
    if (refused) writer_.Finish('{' + FailedCall(TextOf(*error_)) + '}');
  }

  void Finish() { writer_.Finish('{' + reader_->ResultMembers(/*shows_thread=*/true) + '}'); }

  HandlerContext& context_;
  const Peer& peer_;
  StreamPlace place_;
  const std::string key_;
  CallWriter writer_;
  std::optional<Reader> reader_;         // of the run that was read last
  std::optional<api::ErrorInfo> error_;  // why the events of that run ended before the run did
  bool resumed_ = false;
  bool cancelled_ = false;  // by the client, which then wants no response
};

}  // namespace

void CallAgentInSession(const Call& call, const ToolCall& tool, api::GraphRequest request) {
  StreamPlace place;
  place.id_json = call.message.id_json;
  place.progress_token_json = tool.progress_token_json;
  SessionCall running(call.context, call.peer, std::move(place), TakesEvents(call.context.head()));
  running.Begin(call, tool.digest, std::move(request));
}

void ResumeCall(HandlerContext& context, const Peer& peer, std::string_view event_id) {
  const Result<std::optional<StreamPlace>> place = ReadEventId(context, peer, event_id);
  if (!place.ok()) return context.Fail(place.status());
  if (!*place) {
    return SendError(context, kNoId,
                     {kInvalidRequest, "Last-Event-ID: is not an event of this session", 400});
  }
  if (auto error = facades::CheckThread(context, (*place)->thread_id)) return context.Fail(*error);
  SessionCall(context, peer, **place, /*stream=*/true).Resume();
}

void CancelCall(HandlerContext& context, const Peer& peer, const RpcMessage& message) {
  const json* id =
      message.params != nullptr ? api::FindMember(*message.params, "requestId") : nullptr;
  if (id == nullptr || (!id->is_string() && !id->is_number_integer())) return SendAccepted(context);
  const std::string key = CallKey(peer, DumpJson(*id));
  if (const Status marked = MarkCancelled(context, key); !marked.ok()) return context.Fail(marked);
  for (uint64_t run = 0; run <= kRunsMax; ++run) {
    const Result<state::KeyRecord> found =
        context.state().FindKey({context.caller().user_id, kCallRoute, KeyOfRun(key, run)});
    if (found.status().code() == StatusCode::kNotFound) break;
    if (!found.ok()) return context.Fail(found.status());
    const Status stopped = StopRun(context, found->thread_id, found->run_id);
    if (!stopped.ok() && stopped.code() != StatusCode::kNotFound) return context.Fail(stopped);
  }
  SendAccepted(context);
}

}  // namespace agent_graph::mcp
