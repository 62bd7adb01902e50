// The entries of a run's log: their types, and the only place that encodes and decodes them. A new
// kind of entry is a struct, a member of EntryBody, and its two functions in log_entry.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent_graph/message.h"
#include "agent_graph/node.h"
#include "run/log/run_status.h"
#include "state/types.h"

namespace agent_graph::run {

// Each type has the kind under which it is stored. Strings named …_json are JSON text.
namespace entry {

struct RunStarted {
  static constexpr char kKind[] = "run_started";
  std::string run_id;
  std::string graph;
  std::string graph_hash;
};

// JSON that the route which began the run keeps with it, and that only the route reads. Follows
// run_started.
struct RunNote {
  static constexpr char kKind[] = "run_note";
  std::string note_json = "null";
};

// Another worker continues the run. The entries of the attempts before belong to the same run.
struct AttemptStarted {
  static constexpr char kKind[] = "attempt_started";
  std::string run_id;
  int64_t attempt = 0;  // the first one is 1 and has run_started instead
  std::string graph;
  std::string graph_hash;
};

struct NodeStarted {
  static constexpr char kKind[] = "node_started";
  std::string node;
  int64_t step = 0;
};

struct NodeFinished {
  static constexpr char kKind[] = "node_finished";
  std::string node;
  int64_t step = 0;
};

// A failed attempt, after which the node is executed again.
struct NodeRetry {
  static constexpr char kKind[] = "node_retry";
  std::string node;
  int64_t attempt = 0;
  std::string reason;
};

// A message that was added to the thread, without its text.
struct MessageAdded {
  static constexpr char kKind[] = "message";
  std::string message_id;
  std::string node;  // empty: the request
  std::string role;
  std::vector<std::string> blocks;  // types of the content blocks
  std::vector<std::string> tools;   // names of the tools that it calls
  std::optional<Usage> usage;
  std::optional<std::string> model;  // only with `usage`
};

struct StateUpdate {
  static constexpr char kKind[] = "state_update";
  std::string node;
  std::vector<FieldUpdate> updates;  // values before the reducers
  std::optional<std::string> summary;
  // The same changes after the reducers, one field effect per update. Not set in entries of an
  // older build.
  std::optional<state::StateEffect> effect = {};
};

// Values that were set without reducers: by the request, or, if the effect is complete, everything
// that the run has changed so far. Not shown in traces.
struct StateSet {
  static constexpr char kKind[] = "state_set";
  state::StateEffect effect;
};

// The tool call that an entry is about.
struct CallRef {
  std::string node;
  std::string tool;
  std::string call_id;
};

struct ToolIntent {
  static constexpr char kKind[] = "tool_intent";
  CallRef call;
  std::string idempotency_key;
  bool remote = false;      // handed to the client, which executes it
  bool idempotent = false;  // not stored for remote calls
};

struct ToolStarted {
  static constexpr char kKind[] = "tool_started";
  CallRef call;
  int64_t micros = 0;  // since the Unix epoch
};

// When a call ended and how long it took.
struct CallTime {
  int64_t finished_micros = 0;  // since the Unix epoch
  int64_t duration_micros = 0;
};

struct ToolFinished {
  static constexpr char kKind[] = "tool_finished";
  CallRef call;
  bool is_error = false;
  std::optional<CallTime> time = {};  // not set for calls that were refused
  // Set while other calls of the node are running: recovery needs it until the message with the
  // output is stored.
  std::optional<std::string> output_json = {};
};

// The call asks the user and will be repeated with the answers.
struct ToolPaused {
  static constexpr char kKind[] = "tool_paused";
  CallRef call;
  CallTime time = {};
  int64_t questions = 0;
};

// A model is about to be asked in an accepted run. Followers get the message in pieces before it is
// stored.
struct ModelStarted {
  static constexpr char kKind[] = "model_started";
  std::string node;
  std::string message_id;
};

// A piece of a message in progress, of a run whose readers must all get the same pieces
// (RunRequest::log_pieces). Pieces of a message that was stored meanwhile have no meaning.
struct MessagePiece {
  static constexpr char kKind[] = "message_piece";
  std::string node;
  int64_t step = 0;
  std::string message_id;
  // Offsets in bytes at which the texts begin in those of the message.
  int64_t text_begin = 0;
  int64_t reasoning_begin = 0;
  std::string text = {};
  std::string reasoning = {};
};

struct ModelFailed {
  static constexpr char kKind[] = "model_failed";
  std::string node;
  std::string model_name;  // the name that the graph uses
  int64_t duration_micros = 0;
  std::string code;
  std::string reason;
  // Usage of the call, if it is known.
  int64_t input_tokens = 0;
  int64_t output_tokens = 0;
  int64_t cost_nano_usd = 0;
};

struct ModelFinished {
  static constexpr char kKind[] = "model_finished";
  // Not stored for realtime models.
  struct Reply {
    std::string model;  // as the provider reports it
    std::string message_id;
    int64_t input_tokens = 0;
    int64_t output_tokens = 0;
    int64_t cost_nano_usd = 0;  // 0: the model has no price
  };
  std::string node;
  std::string model_name;  // the name that the graph uses
  int64_t duration_micros = 0;
  std::string stop_reason;
  std::optional<Reply> reply = {};
};

// A model call that was in progress when its worker died. Its tokens are estimated.
struct ModelLost {
  static constexpr char kKind[] = "model_lost";
  std::string node;
  std::string model_name;  // the name that the graph uses
  int64_t input_tokens = 0;
  int64_t cost_nano_usd = 0;  // 0: the model has no price
};

// The worker gave the run back, and nothing was in progress that must not be executed twice.
struct AttemptLeft {
  static constexpr char kKind[] = "attempt_left";
};

// The messages that have left the working window.
struct ContextTrimmed {
  static constexpr char kKind[] = "context_trimmed";
  int64_t messages = 0;
};

struct Interrupted {
  static constexpr char kKind[] = "interrupted";
  std::string node;
  std::string phase;
  std::string reason;
  std::string data_json = "null";
};

// The error that ends the run.
struct RunFailed {
  static constexpr char kKind[] = "error";
  std::string code;
  std::string reason;
  std::string node;
  int64_t step = 0;
};

struct RunFinished {
  static constexpr char kKind[] = "run_finished";
  std::string run_id;
  RunStatus status = RunStatus::kDone;
  std::string reason = {};  // why the run was cancelled or lost; empty: it was not
};

// An entry of a kind that this version does not know. It is never written.
struct Unknown {
  std::string kind;
  std::string node;
};

}  // namespace entry

using EntryBody =
    std::variant<entry::RunStarted, entry::AttemptStarted, entry::NodeStarted, entry::NodeFinished,
                 entry::NodeRetry, entry::MessageAdded, entry::StateUpdate, entry::StateSet,
                 entry::ToolIntent, entry::ToolStarted, entry::ToolFinished, entry::ToolPaused,
                 entry::ModelStarted, entry::ModelFailed, entry::ModelFinished,
                 entry::ContextTrimmed, entry::Interrupted, entry::RunFailed, entry::RunFinished,
                 entry::ModelLost, entry::AttemptLeft, entry::RunNote, entry::MessagePiece,
                 entry::Unknown>;

// `body` must not be Unknown.
state::LogEntry Encode(EntryBody body, int64_t micros);
// Members that are missing or of another type keep their initial values. nullopt: not a JSON
// object.
std::optional<EntryBody> Decode(const state::LogEntry& stored);

// The node that the entry is about; empty: none.
std::string NodeOf(const EntryBody& body);
// The call of a tool_… entry; null for other entries.
const entry::CallRef* CallOf(const EntryBody& body);

}  // namespace agent_graph::run
