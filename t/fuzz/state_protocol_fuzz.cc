// The state server's protocol with a foreign peer: any byte stream must be split and unpacked
// safely and independently of how it is cut, and unpacked values must pack again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "state/gateway/wire/protocol.h"
#include "state/maintenance.h"
#include "state/memories.h"
#include "state/requests.h"
#include "state/types.h"

namespace agent_graph::state {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

template <typename T>
void Try(std::string_view bytes) {
  T value;
  if (!pack::FromBytes(bytes, value)) return;
  const std::string packed = pack::ToBytes(value);
  T again;
  Require(pack::FromBytes(packed, again));
  Require(pack::ToBytes(again) == packed);
}

void TryStructs(std::string_view bytes) {
  Try<wire::Hello>(bytes);
  Try<wire::Welcome>(bytes);
  Try<wire::Refused>(bytes);
  Try<ThreadDeleted>(bytes);
  Try<ListMessagesRequest>(bytes);
  Try<LogEntries>(bytes);
  Try<BeginRunRequest>(bytes);
  Try<AppendRunRequest>(bytes);
  Try<FinishRunRequest>(bytes);
  Try<PutStateRequest>(bytes);
  Try<AppendMessagesRequest>(bytes);
  Try<BeginRunReply>(bytes);
  Try<ThreadState>(bytes);
  Try<ThreadPage>(bytes);
  Try<StoreMemoryRequest>(bytes);
  Try<UpdateMemoryRequest>(bytes);
  Try<RemoveMemoriesRequest>(bytes);
  Try<SearchMemoriesRequest>(bytes);
  Try<MemoryPage>(bytes);
  Try<MemoryHits>(bytes);
  Try<ListUnembeddedRequest>(bytes);
  Try<ReplaceVectorsRequest>(bytes);
}

std::vector<std::string> Payloads(std::string_view bytes, size_t piece) {
  wire::FrameReader reader;
  std::vector<std::string> payloads;
  std::string payload;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Add(bytes.substr(at, piece));
    while (reader.Next(payload)) payloads.push_back(payload);
  }
  return payloads;
}

void TryPayload(std::string_view payload) {
  pack::Unpacker unpacker(payload);
  const wire::FrameType type = wire::ReadFrameType(unpacker);
  if (type == wire::FrameType::kRequest) (void)wire::ReadRequestHeader(unpacker);
  if (type == wire::FrameType::kReply) (void)wire::ReadReplyHeader(unpacker);
  if (unpacker.ok()) TryStructs(payload.substr(payload.size() - unpacker.remaining()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> payloads = Payloads(bytes, size + 1);
  Require(payloads == Payloads(bytes, 1));
  for (const std::string& payload : payloads) TryPayload(payload);
  TryPayload(bytes);
  TryStructs(bytes);
  return 0;
}

}  // namespace agent_graph::state
