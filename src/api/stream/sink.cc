#include "api/stream/sink.h"

#include "api/http/context.h"
#include "api/http/errors.h"
#include "api/stream/error_data.h"
#include "base/clock.h"
#include "base/free_memory.h"

namespace agent_graph::api {
namespace {

constexpr size_t kLineBytesKept = 16 * 1024;

}  // namespace

Status StreamSink::OnStart(const run::RunStart& start) {
  writer_.emplace(start);
  Begin(start);
  return Status::Ok();
}

Status StreamSink::OnEvent(const run::RunEvent& event) {
  if (!Shows(event.kind)) return Status::Ok();
  if (event.kind != run::RunEvent::Kind::kError) return Send(writer_->Line(event, UnixSeconds()));
  run::RunEvent shown = event;
  shown.data_json = ErrorData(event);
  SendLast(writer_->Line(shown, UnixSeconds()));
  return Status::Ok();
}

Status StreamSink::OnDelta(const run::RunDelta& delta) {
  // One buffer for all streams of the engine thread: Send copies the line before it suspends.
  thread_local std::string line;
  line.clear();
  delta_lines_.Append(line, *writer_, delta, UnixMicros());
  Status status = Send(line);
  if (line.capacity() > kLineBytesKept) FreeMemory(line);
  return status;
}

void StreamSink::Finish(const run::RunOutcome& outcome) {
  StreamEnd end;
  end.outcome = outcome.status;
  end.interrupt_json = outcome.interrupt_json;
  if (granularity_ != Granularity::kLow) end.state_json = outcome.state_json;
  end.thread_name = outcome.start.thread_name;
  SendLast(writer_->DoneLine(end, UnixSeconds()));
}

void StreamSink::FinishFailed() {
  SendLast(writer_->DoneLine({.outcome = run::RunStatus::kError}, UnixSeconds()));
}

bool StreamSink::Shows(run::RunEvent::Kind kind) const {
  switch (kind) {
    case run::RunEvent::Kind::kMessageDelta:
    case run::RunEvent::Kind::kMessage:
    case run::RunEvent::Kind::kError:
      return true;
    case run::RunEvent::Kind::kUpdate:
      return granularity_ != Granularity::kLow;
    case run::RunEvent::Kind::kState:
      return granularity_ == Granularity::kFull;
  }
  return false;
}

std::string StreamOutcome(const run::RunOutcome& outcome, runtime::CancelReason reason) {
  if (outcome.status == run::RunStatus::kError) return OutcomeOf(ErrorOf(outcome.error), reason);
  return "ok";
}

}  // namespace agent_graph::api
