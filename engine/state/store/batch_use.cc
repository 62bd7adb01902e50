#include "state/store/batch_use.h"

#include <string>

#include "state/key_owner.h"
#include "state/pack/fields.h"
#include "state/requests.h"
#include "state/rows/keys.h"
#include "state/rows/rows.h"
#include "state/runs.h"

namespace agent_graph::state {
namespace {

template <typename Body>
bool Decode(pack::Unpacker body, Body& decoded) {
  return pack::TryUnpack(body, decoded);
}

std::vector<std::string> IdsOf(const std::vector<StoredMessage>& messages) {
  std::vector<std::string> ids;
  ids.reserve(messages.size());
  for (const StoredMessage& message : messages) ids.push_back(message.id);
  return ids;
}

void AddBegin(const pack::Unpacker& body, BatchUse& use) {
  BeginRunRequest begin;
  if (!Decode(body, begin)) return;
  use.threads.push_back({.thread_id = begin.thread_id,
                         .may_create = !begin.granted,
                         .needs_free = !begin.granted,
                         .reads_state = true,
                         .run_ids = {begin.run_id}});
}

void AddAppend(const AppendRunRequest& append, BatchUse& use) {
  use.threads.push_back({.thread_id = append.thread_id, .new_message_ids = IdsOf(append.messages)});
}

void AddFinish(const pack::Unpacker& body, BatchUse& use) {
  FinishRunRequest finish;
  if (!Decode(body, finish)) return;
  AddAppend(finish.append, use);
  use.threads.back().run_ids.push_back(finish.append.run_id);
  for (const OpenCall& call : finish.open_calls) {
    use.threads.back().message_ids.insert(use.threads.back().message_ids.end(),
                                          call.message_ids.begin(), call.message_ids.end());
  }
  for (const std::string& id : finish.forgotten.ids) use.threads.back().message_ids.push_back(id);
}

void AddAccept(const pack::Unpacker& body, BatchUse& use) {
  AcceptRunRequest accept;
  if (!Decode(body, accept)) return;
  use.threads.push_back(
      {.thread_id = accept.begin.thread_id, .may_create = true, .run_ids = {accept.begin.run_id}});
  if (accept.key) {
    use.keys.push_back(keys::RunKey(KeyOwner(accept.begin), accept.key->route, accept.key->key));
  }
}

template <typename Body>
void AddChange(const pack::Unpacker& body, bool may_create, BatchUse& use) {
  Body change;
  if (!Decode(body, change)) return;
  use.threads.push_back(
      {.thread_id = change.thread_id, .may_create = may_create, .reads_snapshot = true});
  if constexpr (requires { change.messages; }) {
    use.threads.back().message_ids = IdsOf(change.messages);
  }
  if constexpr (requires { change.message_ids; }) {
    use.threads.back().message_ids = change.message_ids;
  }
  if constexpr (requires { change.message_id; }) {
    use.threads.back().message_ids.push_back(change.message_id);
  }
  if constexpr (requires { change.run_id; }) use.threads.back().run_ids.push_back(change.run_id);
}

void AddClaim(const pack::Unpacker& body, BatchUse& use) {
  ClaimKeyRequest claim;
  if (Decode(body, claim)) {
    use.keys.push_back(keys::RunKey(claim.user, claim.key.route, claim.key.key));
  }
}

// Memories have ids that are unique over all owners.
void AddMemory(const std::string& id, BatchUse& use) {
  use.keys.push_back(keys::MemoryPlace(id));
}

void AddMemories(Operation operation, const pack::Unpacker& body, BatchUse& use) {
  StoreMemoryRequest store;
  UpdateMemoryRequest update;
  MemoryName name;
  RemoveMemoriesRequest remove;
  ReplaceVectorsRequest replace;
  if (operation == Operation::kStoreMemory && Decode(body, store)) AddMemory(store.record.id, use);
  if (operation == Operation::kUpdateMemory && Decode(body, update)) AddMemory(update.name.id, use);
  if (operation == Operation::kDeleteMemory && Decode(body, name)) AddMemory(name.id, use);
  if (operation == Operation::kRemoveMemories && Decode(body, remove)) {
    for (const std::string& id : remove.ids) AddMemory(id, use);
  }
  if (operation == Operation::kReplaceVectors && Decode(body, replace)) {
    for (const NewVector& vector : replace.vectors) AddMemory(vector.id, use);
  }
}

void Add(Operation operation, const pack::Unpacker& body, BatchUse& use) {
  switch (operation) {
    case Operation::kBeginRun:
      return AddBegin(body, use);
    case Operation::kAppendRun: {
      AppendRunRequest append;
      if (Decode(body, append)) AddAppend(append, use);
      return;
    }
    case Operation::kFinishRun:
      return AddFinish(body, use);
    case Operation::kAcceptRun:
      return AddAccept(body, use);
    case Operation::kReleaseRun:
      return AddChange<ReleaseRunRequest>(body, false, use);
    case Operation::kHandOverRun:
      return AddChange<HandOverRunRequest>(body, false, use);
    case Operation::kRequestStop:
      return AddChange<StopRequest>(body, false, use);
    case Operation::kPutState:
      return AddChange<PutStateRequest>(body, true, use);
    case Operation::kAppendMessages:
      return AddChange<AppendMessagesRequest>(body, true, use);
    case Operation::kClearState:
    case Operation::kDeleteThread:
      return AddChange<ThreadRequest>(body, false, use);
    case Operation::kDeleteMessage:
      return AddChange<MessageRequest>(body, false, use);
    case Operation::kRemoveMessages:
      return AddChange<RemoveMessagesRequest>(body, false, use);
    case Operation::kClaimKey:
      return AddClaim(body, use);
    case Operation::kReplaceRemoteTools:
      use.keys.push_back(keys::Meta(kRemoteToolsName));
      return;
    default:
      return AddMemories(operation, body, use);
  }
}

}  // namespace

bool IsOfRun(const Request& request) {
  switch (request.header.operation) {
    case Operation::kAppendRun:
    case Operation::kFinishRun:
      return true;
    case Operation::kBeginRun: {
      BeginRunRequest begin;
      return Decode(request.body(), begin) && !begin.interrupt_if_busy;
    }
    default:
      return false;
  }
}

void AddUse(const Request& request, BatchUse& use) {
  Add(request.header.operation, request.body(), use);
}

}  // namespace agent_graph::state
