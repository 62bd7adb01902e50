#include "state/leveldb/files/log_records.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/crc32c.h"

namespace agent_graph::state {
namespace {

static_assert(std::endian::native == std::endian::little);

enum FragmentType : uint8_t { kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };

// LevelDB stores checksums rotated and offset, because its files may contain checksums as payload.
uint32_t Masked(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

// Parts of a head.
constexpr size_t kChecksumBytes = 4;
constexpr size_t kTypeOffset = 6;
// A disk writes a sector as a whole or not at all.
constexpr size_t kSectorBytes = 512;

size_t RoomInBlock(size_t at) {
  return kLogBlockBytes - at % kLogBlockBytes;
}

// Skips the end of a block if it is too short for a head, which never crosses a block boundary.
size_t PastBlockTrailer(size_t at) {
  return RoomInBlock(at) < kLogHeadBytes ? at + RoomInBlock(at) : at;
}

void AppendFragment(uint8_t type, std::string_view payload, std::string& log) {
  const char type_byte = static_cast<char>(type);
  const uint32_t crc = Masked(Crc32c(payload, Crc32c({&type_byte, 1})));
  for (int shift = 0; shift < 32; shift += 8) log.push_back(static_cast<char>(crc >> shift));
  log.push_back(static_cast<char>(payload.size()));
  log.push_back(static_cast<char>(payload.size() >> 8));
  log.push_back(type_byte);
  log.append(payload);
}

}  // namespace

bool IsZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

void AppendLogRecord(std::string_view payload, std::string& log) {
  bool first = true;
  bool last = false;
  while (!last) {
    log.resize(PastBlockTrailer(log.size()), '\0');
    const size_t taken = std::min(payload.size(), RoomInBlock(log.size()) - kLogHeadBytes);
    last = taken == payload.size();
    const uint8_t type = first ? (last ? kFull : kFirst) : (last ? kLast : kMiddle);
    AppendFragment(type, payload.substr(0, taken), log);
    payload.remove_prefix(taken);
    first = false;
  }
}

std::optional<LogReader::Fragment> LogReader::FragmentAt(size_t at) const {
  if (at + kLogHeadBytes > log_.size()) return std::nullopt;
  const auto* head = reinterpret_cast<const uint8_t*>(log_.data()) + at;
  const size_t length = static_cast<size_t>(head[4]) | static_cast<size_t>(head[5]) << 8;
  const uint8_t type = head[6];
  const size_t end = at + kLogHeadBytes + length;
  if (type < kFull || type > kLast) return std::nullopt;
  if (kLogHeadBytes + length > RoomInBlock(at) || end > log_.size()) return std::nullopt;
  uint32_t stored = 0;
  std::memcpy(&stored, head, sizeof stored);
  if (stored != Masked(Crc32c(log_.substr(at + kTypeOffset, 1 + length)))) return std::nullopt;
  return Fragment{type, log_.substr(at + kLogHeadBytes, length), end};
}

size_t LogReader::ClaimedEnd(size_t at) const {
  const auto byte = [&](size_t place) -> size_t {
    return place < log_.size() ? static_cast<uint8_t>(log_[place]) : 0;
  };
  const size_t length = byte(at + 4) | byte(at + 5) << 8;
  return at + std::min(kLogHeadBytes + length, RoomInBlock(at));
}

bool LogReader::AtEnd() const {
  return IsZero(log_.substr(whole_end_));
}

// Without its whole checksum, a head cannot be recognised.
bool LogReader::LacksBegin(size_t zeros) const {
  if (zeros >= kChecksumBytes) return true;
  const size_t end = ClaimedEnd(at_);
  if (end > log_.size() || end < at_ + kLogHeadBytes) return false;
  const uint32_t checksum = Masked(Crc32c(log_.substr(at_ + kTypeOffset, end - at_ - kTypeOffset)));
  char bytes[kChecksumBytes];
  std::memcpy(bytes, &checksum, sizeof bytes);
  return std::equal(bytes + zeros, bytes + kChecksumBytes, log_.data() + at_ + zeros);
}

std::optional<size_t> LogReader::FindUnwritten() const {
  const size_t end = std::min(ClaimedEnd(at_), log_.size());
  for (size_t at = at_; at < end;) {
    const size_t sector_end = std::min(at - at % kSectorBytes + kSectorBytes, log_.size());
    const std::string_view rest = log_.substr(at, sector_end - at);
    const bool is_large = rest.size() > kLogHeadBytes;
    if (IsZero(rest) && (is_large || (at == at_ && LacksBegin(rest.size())))) return at;
    at = sector_end;
  }
  return std::nullopt;
}

bool LogReader::IsUnfinished() const {
  const std::optional<size_t> unwritten = FindUnwritten();
  if (!unwritten) return false;
  // If whole records follow before the zeros, the zeros are behind the last record, and the length
  // of this fragment, which seems to reach them, is damaged.
  for (size_t at = at_ + 1; at < *unwritten; ++at) {
    if (FragmentAt(at) && IsWholeToBlockEnd(at)) return false;
  }
  return true;
}

bool LogReader::Next(std::string_view& payload) {
  bool joining = false;
  for (;;) {
    at_ = PastBlockTrailer(at_);
    const std::optional<Fragment> fragment = FragmentAt(at_);
    if (!fragment) return false;
    const bool begins = fragment->type == kFull || fragment->type == kFirst;
    if (begins && joining) return false;  // the previous record is incomplete
    at_ = fragment->end;
    if (!begins && !joining) return false;  // the start of this record is missing
    if (fragment->type == kFull) {
      payload = fragment->payload;
    } else if (fragment->type == kFirst) {
      joined_ = fragment->payload;
      joining = true;
      continue;
    } else {
      joined_ += fragment->payload;
      if (fragment->type == kMiddle) continue;
      payload = joined_;
    }
    whole_end_ = at_;
    return true;
  }
}

bool LogReader::IsWholeToBlockEnd(size_t at) const {
  const size_t block_end = std::min(at + RoomInBlock(at), log_.size());
  while (at < block_end && RoomInBlock(at) >= kLogHeadBytes) {
    const std::optional<Fragment> fragment = FragmentAt(at);
    if (!fragment) return IsZero(log_.substr(at));
    at = fragment->end;
  }
  return true;
}

bool LogReader::SkipDamage() {
  for (; at_ + kLogHeadBytes <= log_.size(); ++at_) {
    if (FragmentAt(at_) && IsWholeToBlockEnd(at_)) return true;
  }
  return false;
}

}  // namespace agent_graph::state
