#include "api/http/service_secret.h"

#include <limits>
#include <optional>

#include "base/base64.h"
#include "base/ids.h"
#include "state/service.h"

namespace agent_graph::api {
namespace {

constexpr char kRoute[] = "service secret";
constexpr char kKey[] = "1";
constexpr size_t kBytes = 32;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

std::string NewSecret() {
  std::string bytes;
  while (bytes.size() < kBytes) {
    const uint64_t random = RandomUint64();
    for (int shift = 0; shift < 64; shift += 8) bytes += static_cast<char>(random >> shift);
  }
  return bytes;
}

}  // namespace

std::string ServiceSecret::Known() const {
  MutexLock lock(mutex_);
  return bytes_;
}

Result<std::string> ServiceSecret::Get(state::Service& state) {
  if (std::string known = Known(); !known.empty()) return known;
  AG_ASSIGN_OR_RETURN(const state::KeyRecord record,
                      state.ClaimKey({"", {kRoute, kKey, ""}, EncodeBase64(NewSecret()), kNever}));
  std::optional<std::string> bytes = DecodeBase64(record.value);
  if (!bytes || bytes->size() != kBytes) {
    return Status(StatusCode::kDataLoss, "the secret of the service cannot be read back");
  }
  MutexLock lock(mutex_);
  bytes_ = *std::move(bytes);
  return bytes_;
}

}  // namespace agent_graph::api
