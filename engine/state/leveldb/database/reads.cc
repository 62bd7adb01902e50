#include "state/leveldb/database/reads.h"

#include <utility>

#include "state/leveldb/database/conversions.h"

namespace agent_graph::state {
namespace {

class Cursor : public RowCursor {
 public:
  Cursor(leveldb::DB& db, ReadGate& gate, const leveldb::ReadOptions& options,
         const std::string& begin, std::string end)
      : pass_(gate), iterator_(db.NewIterator(options)), end_(std::move(end)) {
    iterator_->Seek(begin);
  }

  bool Valid() const override {
    return iterator_->Valid() && (end_.empty() || iterator_->key().compare(ToSlice(end_)) < 0);
  }
  std::string_view key() const override { return ToView(iterator_->key()); }
  std::string_view value() const override { return ToView(iterator_->value()); }
  void Next() override { iterator_->Next(); }
  Status status() const override { return FromLevelDb(iterator_->status()); }

 private:
  const ReadGate::Pass pass_;
  const std::unique_ptr<leveldb::Iterator> iterator_;
  const std::string end_;
};

}  // namespace

leveldb::ReadOptions LevelReads::options() const {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  options.snapshot = snapshot_;
  return options;
}

Result<std::optional<std::string>> LevelReads::Get(const std::string& key) const {
  const ReadGate::Pass pass(gate_);
  std::string value;
  const leveldb::Status status = db_.Get(options(), key, &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return FromLevelDb(status);
  return std::optional<std::string>(std::move(value));
}

Status LevelReads::Scan(const std::string& begin, const std::string& end, const RowUse& row) const {
  const ReadGate::Pass pass(gate_);
  const std::unique_ptr<leveldb::Iterator> iterator(db_.NewIterator(options()));
  for (iterator->Seek(begin); iterator->Valid(); iterator->Next()) {
    if (!end.empty() && iterator->key().compare(ToSlice(end)) >= 0) break;
    if (!row(ToView(iterator->key()), ToView(iterator->value()))) break;
  }
  return FromLevelDb(iterator->status());
}

Status LevelReads::ScanBackwards(const std::string& begin, const std::string& end,
                                 const RowUse& row) const {
  const ReadGate::Pass pass(gate_);
  const std::unique_ptr<leveldb::Iterator> iterator(db_.NewIterator(options()));
  if (!end.empty()) iterator->Seek(end);
  if (!end.empty() && iterator->Valid()) {
    iterator->Prev();
  } else {
    iterator->SeekToLast();
  }
  for (; iterator->Valid() && iterator->key().compare(ToSlice(begin)) >= 0; iterator->Prev()) {
    if (!row(ToView(iterator->key()), ToView(iterator->value()))) break;
  }
  return FromLevelDb(iterator->status());
}

std::unique_ptr<RowCursor> LevelReads::NewCursor(const std::string& begin, std::string end) const {
  return std::make_unique<Cursor>(db_, gate_, options(), begin, std::move(end));
}

}  // namespace agent_graph::state
