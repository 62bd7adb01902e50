// Field lists of the structs in types.h, for rows and frames. Append new fields at the end and
// never change a field's type: workers of two builds share one state server while the binary is
// replaced.
#pragma once

#include <tuple>

#include "state/pack/fields.h"
#include "state/types.h"

namespace agent_graph::state {

template <pack::SameAs<Scope> T>
auto Fields(T& s) {
  return std::tie(s.kind, s.user_id);
}
template <pack::SameAs<StoredMessage> T>
auto Fields(T& s) {
  return std::tie(s.id, s.sequence, s.json);
}
template <pack::SameAs<ThreadRecord> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.owner, s.creation_id, s.name, s.metadata_json, s.last_run_id,
                  s.created_micros, s.updated_micros);
}
template <pack::SameAs<Snapshot> T>
auto Fields(T& s) {
  return std::tie(s.fields_json, s.summary, s.execution_json, s.graph_name, s.graph_hash);
}
template <pack::SameAs<RunInFlight> T>
auto Fields(T& s) {
  return std::tie(s.run_id, s.current_node, s.step, s.stop_requested, s.queued_runs);
}
template <pack::SameAs<ThreadState> T>
auto Fields(T& s) {
  return std::tie(s.record, s.snapshot, s.window, s.in_flight);
}
template <pack::SameAs<MessagePage> T>
auto Fields(T& s) {
  return std::tie(s.messages, s.next_cursor);
}
template <pack::SameAs<ThreadPage> T>
auto Fields(T& s) {
  return std::tie(s.threads, s.next_cursor);
}
template <pack::SameAs<PageRequest> T>
auto Fields(T& s) {
  return std::tie(s.search, s.offset, s.limit, s.cursor);
}
template <pack::SameAs<LogEntry> T>
auto Fields(T& s) {
  return std::tie(s.kind, s.json, s.micros);
}
template <pack::SameAs<BeginRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.user_id, s.creation_id, s.thread_name, s.run_id,
                  s.graph_name, s.graph_hash, s.window_max, s.enqueue_if_busy, s.wait_ms_max,
                  s.queue_max, s.new_thread_only, s.run_ms_max);
}
template <pack::SameAs<BeginRunReply> T>
auto Fields(T& s) {
  return std::tie(s.created, s.lease_epoch, s.state, s.remote_tools_version);
}
template <pack::SameAs<AppendRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.thread_id, s.run_id, s.lease_epoch, s.entries, s.messages, s.current_node,
                  s.step, s.durable, s.first_entry, s.metadata_json);
}
template <pack::SameAs<AppendRunReply> T>
auto Fields(T& s) {
  return std::tie(s.stop_requested);
}
template <pack::SameAs<ForgottenMessages> T>
auto Fields(T& s) {
  return std::tie(s.through, s.ids);
}
template <pack::SameAs<OpenCall> T>
auto Fields(T& s) {
  return std::tie(s.id, s.remote, s.message_ids);
}
template <pack::SameAs<FinishRunRequest> T>
auto Fields(T& s) {
  return std::tie(s.append, s.snapshot, s.status, s.thread_name, s.retired, s.changed_fields,
                  s.summary_changed, s.state_unread, s.forgotten, s.changed_at,
                  s.summary_changed_at, s.open_calls);
}
template <pack::SameAs<WaitingThreadQuery> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.call_ids);
}
template <pack::SameAs<WaitingThread> T>
auto Fields(T& s) {
  return std::tie(s.thread_id);
}
template <pack::SameAs<StopRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.cancel, s.run_id);
}
template <pack::SameAs<StopReply> T>
auto Fields(T& s) {
  return std::tie(s.running, s.run_id);
}
template <pack::SameAs<PutStateRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.user_id, s.creation_id, s.fields_json, s.summary_present,
                  s.summary, s.messages, s.context_cleared);
}
template <pack::SameAs<AppendMessagesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.user_id, s.creation_id, s.messages, s.metadata_json);
}
template <pack::SameAs<RemoveMessagesRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.updated_micros, s.message_ids);
}
template <pack::SameAs<ReadRunsRequest> T>
auto Fields(T& s) {
  return std::tie(s.scope, s.thread_id, s.run_id, s.runs_max, s.entries_max);
}
template <pack::SameAs<RunTraces> T>
auto Fields(T& s) {
  return std::tie(s.run_ids, s.run_id, s.entries, s.in_flight);
}
template <pack::SameAs<RemoteTool> T>
auto Fields(T& s) {
  return std::tie(s.node, s.name, s.description, s.parameters_json);
}
template <pack::SameAs<RemoteTools> T>
auto Fields(T& s) {
  return std::tie(s.version, s.generation, s.tools);
}
template <pack::SameAs<ReplaceRemoteToolsRequest> T>
auto Fields(T& s) {
  return std::tie(s.generation, s.tools);
}

}  // namespace agent_graph::state
