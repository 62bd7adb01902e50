// Questions to the user of a client in a session. The question is sent on the stream of its call;
// the answer is a request of its own, which any worker may get and which the state keeps until the
// call takes it.
#pragma once

#include <string>
#include <vector>

#include "agent_graph/json.h"
#include "facades/mcp/call_writer.h"
#include "facades/mcp/questions.h"

namespace agent_graph::mcp {

// A call in a session.
struct AskingCall {
  api::HandlerContext& context;
  const Peer& peer;
  CallWriter& writer;
  std::string key;      // see CallKey
  std::string subject;  // names the part of the call that asks; unique within the call
  bool resumable;       // another worker can go on with the call
};

// Sends the questions, one after the other, and returns the answers. A question without an answer
// within an hour is cancelled. kCancelled: the client has cancelled the call, or the exchange was
// cancelled, or the worker leaves and another one can go on; kUnavailable: none can.
Result<std::vector<json>> AskUser(const AskingCall& call, const std::vector<Question>& questions);

// Handles a response of the client.
void TakeAnswer(api::HandlerContext& context, const Peer& peer, const RpcMessage& message);

// Identifies a request within its session, for keys of the state.
std::string CallKey(const Peer& peer, const std::string& id_json);

// Record that the client has cancelled a call, and read that record.
Status MarkCancelled(api::HandlerContext& context, const std::string& key);
Result<bool> IsCancelled(api::HandlerContext& context, const std::string& key);

}  // namespace agent_graph::mcp
