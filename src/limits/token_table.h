// Tokens that users have used within a window of time, in memory that processes may share.
//
// The window is divided into sub-windows; tokens count until their whole sub-window has left the
// window. If there is no room for another user, the least recently active one is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "limits/options.h"
#include "limits/sip_hash.h"

namespace agent_graph::limits {

// Usage of one user.
struct TokensUsed {
  uint64_t tokens = 0;
  // Seconds until a part of them leaves the window.
  uint32_t wait_seconds = 0;
};

// Thread-safe, also over processes: the memory contains a lock that survives the death of a process
// that holds it. Never waits for anything else.
class TokenTable {
 public:
  static constexpr size_t kUsersMin = 256;
  static constexpr size_t kUsersMax = 16 * 1024;

  // Bytes of a table for so many users.
  static size_t BytesOf(size_t users);
  // Initializes `memory` (aligned to 64 bytes, at least BytesOf(kUsersMin)) as an empty table.
  // False: the system has no such lock.
  static bool Format(void* memory, size_t bytes, const TokenLimitOptions& options,
                     const HashKey& seed);
  // True if `memory` was formatted for the same window.
  static bool Fits(const void* memory, const TokenLimitOptions& options);

  // Uses memory that was formatted. Does not own it.
  explicit TokenTable(void* memory) : header_(static_cast<Header*>(memory)) {}

  TokensUsed Read(std::string_view user) const;
  void Charge(std::string_view user, uint64_t tokens) const;

 private:
  struct Header;
  struct Place;
  class Lock;

  // `now`: milliseconds of the monotonic clock. Null: the user has no place.
  Place* BucketOf(uint64_t hash) const;
  Place* Find(const Hash128& hash) const;
  Place& Choose(const Hash128& hash, uint64_t now) const;

  Header* const header_;
};

}  // namespace agent_graph::limits
