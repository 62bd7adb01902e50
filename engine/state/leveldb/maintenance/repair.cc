// Repairs a database as far as it can be read.
#include <leveldb/db.h>
#include <leveldb/options.h>
#include <leveldb/write_batch.h>
#include <unistd.h>

#include <memory>

#include "state/leveldb/database/database.h"
#include "state/leveldb/files/file_check.h"
#include "state/leveldb/files/synced_marks.h"
#include "state/leveldb/maintenance/repair.h"
#include "state/verify/faults.h"

namespace agent_graph::state {
namespace {

constexpr size_t kRepairBatchBytes = 4 * 1024 * 1024;

// Writes the correct value of each row, or deletes the row.
class Mender {
 public:
  explicit Mender(LevelDatabase& database) : database_(database) {}

  void Mend(const Fault& fault) {
    const leveldb::Slice key(fault.key.data(), fault.key.size());
    if (fault.right) {
      batch_.Put(key, *fault.right);
    } else {
      batch_.Delete(key);
    }
    if (batch_.ApproximateSize() >= kRepairBatchBytes) Flush(/*sync=*/false);
  }
  Status Finish() {
    Flush(/*sync=*/true);
    return written_;
  }

 private:
  void Flush(bool sync) {
    if (written_.ok()) written_ = database_.Write(batch_, sync);
    batch_.Clear();
  }

  LevelDatabase& database_;
  leveldb::WriteBatch batch_;
  Status written_;
};

// LevelDB's repair uses every log and table that it finds, also obsolete ones that only wait for
// removal, which would restore deleted rows. Opening the database removes these files. If the
// MANIFEST is damaged, opening would also remove tables that are needed; then this step is skipped.
void RemoveOldFiles(const std::string& database_directory, const Marks& marks) {
  if (!CheckManifest(database_directory, marks).ok()) return;
  leveldb::Options options;
  options.paranoid_checks = false;
  leveldb::DB* database = nullptr;
  if (leveldb::DB::Open(options, database_directory, &database).ok()) delete database;
}

}  // namespace

Status Repair(const std::string& database_directory) {
  {
    AG_ASSIGN_OR_RETURN(const std::unique_ptr<SyncedMarks> marks,
                        SyncedMarks::Open(database_directory));
    AG_RETURN_IF_ERROR(SalvageLogs(database_directory));
    RemoveOldFiles(database_directory, marks->found());
    // The marks describe files that no longer exist.
    (void)unlink((database_directory + "/" + SyncedMarks::kName).c_str());
  }
  leveldb::Options options;
  options.paranoid_checks = true;  // otherwise blocks are used without a check of their checksums
  const leveldb::Status repaired = leveldb::RepairDB(database_directory, options);
  if (!repaired.ok()) {
    return Status(StatusCode::kDataLoss, "LevelDB cannot repair the database")
        .WithDetail(repaired.ToString());
  }
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<LevelDatabase> database,
                      LevelDatabase::OpenDirectory(database_directory));
  AG_RETURN_IF_ERROR(database->MergeTables());
  Mender mender(*database);
  const FaultUse mend = [&](const Fault& fault) { mender.Mend(fault); };
  // First, while rows that cannot be read still show their number.
  AG_RETURN_IF_ERROR(FindNumberFaults(DatabaseSnapshot(*database), mend));
  AG_RETURN_IF_ERROR(mender.Finish());
  AG_RETURN_IF_ERROR(FindFaults(DatabaseSnapshot(*database), nullptr, mend).status());
  return mender.Finish();
}

}  // namespace agent_graph::state
