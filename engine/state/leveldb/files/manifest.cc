#include "state/leveldb/files/manifest.h"

#include "state/leveldb/files/varints.h"

namespace agent_graph::state {
namespace {

// Tags of LevelDB's VersionEdit.
enum Tag : uint64_t {
  kComparator = 1,
  kLogNumber = 2,
  kNextFileNumber = 3,
  kLastSequence = 4,
  kCompactPointer = 5,
  kDeletedFile = 6,
  kNewFile = 7,
  kPreviousLogNumber = 9,
};

}  // namespace

std::optional<ManifestEdit> ReadManifestEdit(std::string_view record) {
  ManifestEdit edit;
  VarintParser parser(record);
  while (parser.ok() && !parser.at_end()) {
    switch (parser.Varint()) {
      case kComparator:
        parser.Text();
        break;
      case kLogNumber:
        edit.log_number = parser.Varint();
        break;
      case kPreviousLogNumber:
        edit.previous_log_number = parser.Varint();
        break;
      case kNextFileNumber:
      case kLastSequence:
        parser.Varint();
        break;
      case kCompactPointer:  // level, key
        parser.Varint();
        parser.Text();
        break;
      case kDeletedFile:  // level, number
        parser.Varint();
        parser.Varint();
        break;
      case kNewFile:  // level, number, size, smallest and largest key
        for (int i = 0; i < 3; ++i) parser.Varint();
        for (int i = 0; i < 2; ++i) parser.Text();
        break;
      default:
        return std::nullopt;
    }
  }
  if (!parser.ok()) return std::nullopt;
  return edit;
}

}  // namespace agent_graph::state
