#include "state/search/nearest_index.h"

// Disables hnswlib's manual SIMD: its prefetch reads one neighbour past the end of a list, beyond
// the allocation. The distance function is our own in any case.
#define NO_MANUAL_VECTORIZATION
#include <fcntl.h>
#include <hnswlib/hnswlib.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>

#include "base/file_descriptor.h"
#include "base/mutex.h"
#include "state/pack/fields.h"
#include "state/search/distance.h"
#include "state/search/index_files.h"

namespace agent_graph::state {
namespace {

// HNSW parameters M (links per vector) and efConstruction (search effort when a vector is added).
constexpr size_t kLinks = 16;
constexpr size_t kBuildEffort = 120;
constexpr size_t kPieceBytes = 1 << 20;

float CosineDistance(const void* a, const void* b, const void* dimensions) {
  return 1 - DotProduct(static_cast<const float*>(a), static_cast<const float*>(b),
                        *static_cast<const size_t*>(dimensions));
}

// Cosine distance for vectors of length 1.
class CosineSpace : public hnswlib::SpaceInterface<float> {
 public:
  explicit CosineSpace(size_t dimensions) : dimensions_(dimensions) {}
  size_t get_data_size() override { return dimensions_ * sizeof(float); }
  hnswlib::DISTFUNC<float> get_dist_func() override { return CosineDistance; }
  void* get_dist_func_param() override { return &dimensions_; }

 private:
  size_t dimensions_;
};

std::vector<float> Direction(const float* vector, size_t dimensions) {
  std::vector<float> direction(vector, vector + dimensions);
  const float length = std::sqrt(DotProduct(vector, vector, dimensions));
  if (length > 0) {
    for (float& value : direction) value /= length;
  }
  return direction;
}

Status Unwritable(const std::string& file) {
  return Status(StatusCode::kUnavailable, "a search index cannot be saved").WithDetail(file);
}

bool IsSet(const std::atomic<bool>* flag) {
  return flag != nullptr && *flag;
}
Status Interrupted() {
  return Status(StatusCode::kCancelled, "the search index was dropped");
}

// Computes the length and checksum of a file.
Status Measure(const std::string& file, const std::atomic<bool>* stopping, Seal& seal) {
  const FileDescriptor fd(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return Status(StatusCode::kNotFound, "no such index");
  std::vector<unsigned char> buffer(kPieceBytes);
  uLong checksum = crc32(0, nullptr, 0);
  uint64_t bytes = 0;
  for (;;) {
    if (IsSet(stopping)) return Interrupted();
    const ssize_t got = read(fd.get(), buffer.data(), buffer.size());
    if (got < 0) return Status(StatusCode::kUnavailable, "a search index cannot be read");
    if (got == 0) break;
    checksum = crc32(checksum, buffer.data(), static_cast<uInt>(got));
    bytes += static_cast<uint64_t>(got);
  }
  seal.bytes = bytes;
  seal.checksum = checksum;
  return Status::Ok();
}

// Writes a file in pieces and computes its length and checksum.
class IndexFile {
 public:
  IndexFile(const std::string& path, const std::atomic<bool>* stopping)
      : path_(path),
        stopping_(stopping),
        fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)) {
    if (!fd_) status_ = Unwritable(path_);
  }

  void Write(const void* data, size_t bytes) {
    for (const char* next = static_cast<const char*>(data); bytes > 0;) {
      const size_t taken = std::min(bytes, kPieceBytes - piece_.size());
      piece_.append(next, taken);
      next += taken;
      bytes -= taken;
      if (piece_.size() == kPieceBytes) Flush();
    }
  }
  template <typename Value>
  void Write(const Value& value) {
    Write(&value, sizeof value);
  }

  // Flushes and syncs the file to disk, and sets the length and checksum of `seal`.
  Status End(Seal& seal) {
    Flush();
    if (status_.ok() && fsync(fd_.get()) != 0) status_ = Unwritable(path_);
    seal.bytes = bytes_;
    seal.checksum = checksum_;
    return status_;
  }

 private:
  void Flush() {
    if (status_.ok() && IsSet(stopping_)) status_ = Interrupted();
    checksum_ = crc32(checksum_, reinterpret_cast<const unsigned char*>(piece_.data()),
                      static_cast<uInt>(piece_.size()));
    bytes_ += piece_.size();
    for (size_t done = 0; status_.ok() && done < piece_.size();) {
      const ssize_t wrote = write(fd_.get(), piece_.data() + done, piece_.size() - done);
      if (wrote > 0) done += static_cast<size_t>(wrote);
      if (wrote < 0 && errno != EINTR) status_ = Unwritable(path_);
    }
    piece_.clear();
  }

  const std::string path_;
  const std::atomic<bool>* const stopping_;
  const FileDescriptor fd_;
  Status status_;
  std::string piece_;
  uint64_t bytes_ = 0;
  uLong checksum_ = crc32(0, nullptr, 0);
};

// Writes the format of hnswlib's saveIndex, which loadIndex reads. saveIndex itself does not report
// a full disk and cannot be interrupted.
void WriteGraph(const hnswlib::HierarchicalNSW<float>& graph, IndexFile& file) {
  file.Write(graph.offsetLevel0_);
  file.Write(graph.max_elements_);
  file.Write(graph.cur_element_count);
  file.Write(graph.size_data_per_element_);
  file.Write(graph.label_offset_);
  file.Write(graph.offsetData_);
  file.Write(graph.maxlevel_);
  file.Write(graph.enterpoint_node_);
  file.Write(graph.maxM_);
  file.Write(graph.maxM0_);
  file.Write(graph.M_);
  file.Write(graph.mult_);
  file.Write(graph.ef_construction_);
  file.Write(graph.data_level0_memory_, graph.cur_element_count * graph.size_data_per_element_);
  for (size_t i = 0; i < graph.cur_element_count; ++i) {
    const auto levels = static_cast<size_t>(std::max(graph.element_levels_[i], 0));
    const auto bytes = static_cast<unsigned int>(graph.size_links_per_element_ * levels);
    file.Write(bytes);
    file.Write(graph.linkLists_[i], bytes);
  }
}

}  // namespace

struct NearestIndex::Implementation {
  explicit Implementation(size_t dimensions_in) : dimensions(dimensions_in), space(dimensions_in) {}

  const size_t dimensions;
  CosineSpace space;
  mutable SharedMutex mutex;
  std::unique_ptr<hnswlib::HierarchicalNSW<float>> graph AG_GUARDED_BY(mutex)
      AG_PT_GUARDED_BY(mutex);
};

NearestIndex::NearestIndex(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
NearestIndex::~NearestIndex() = default;

NearestIndex::NearestIndex(size_t dimensions, size_t capacity)
    : implementation_(std::make_unique<Implementation>(dimensions)) {
  implementation_->graph = std::make_unique<hnswlib::HierarchicalNSW<float>>(
      &implementation_->space, std::max<size_t>(capacity, 1024), kLinks, kBuildEffort);
}

Status NearestIndex::Add(uint64_t label, const float* vector) {
  const std::vector<float> direction = Direction(vector, implementation_->dimensions);
  WriterLock lock(implementation_->mutex);
  auto& graph = *implementation_->graph;
  try {
    if (graph.cur_element_count == graph.max_elements_) graph.resizeIndex(2 * graph.max_elements_);
    graph.addPoint(direction.data(), label);
  } catch (const std::exception& failure) {
    return Status(StatusCode::kResourceExhausted, "a search index cannot grow")
        .WithDetail(failure.what());
  }
  return Status::Ok();
}

void NearestIndex::Remove(uint64_t label) {
  WriterLock lock(implementation_->mutex);
  auto& graph = *implementation_->graph;
  const auto place = graph.label_lookup_.find(label);
  if (place == graph.label_lookup_.end() || graph.isMarkedDeleted(place->second)) return;
  graph.markDelete(label);
}

std::vector<NearestIndex::Neighbour> NearestIndex::Nearest(const float* vector, size_t count,
                                                           size_t effort) const {
  const std::vector<float> direction = Direction(vector, implementation_->dimensions);
  std::vector<Neighbour> neighbours;
  ReaderLock lock(implementation_->mutex);
  // searchKnn has no argument for the effort. It examines at least as many vectors as it returns.
  auto found = implementation_->graph->searchKnn(direction.data(), std::max(count, effort));
  for (; !found.empty(); found.pop()) {
    neighbours.push_back({found.top().second, 1 - found.top().first});
  }
  std::ranges::reverse(neighbours);
  return neighbours;
}

std::vector<uint64_t> NearestIndex::Labels() const {
  ReaderLock lock(implementation_->mutex);
  std::vector<uint64_t> labels;
  const auto& graph = *implementation_->graph;
  labels.reserve(graph.label_lookup_.size());
  for (const auto& [label, place] : graph.label_lookup_) {
    if (!graph.isMarkedDeleted(place)) labels.push_back(label);
  }
  return labels;
}

bool NearestIndex::Holds(uint64_t label, const float* vector) const {
  const std::vector<float> direction = Direction(vector, implementation_->dimensions);
  ReaderLock lock(implementation_->mutex);
  const auto& graph = *implementation_->graph;
  const auto place = graph.label_lookup_.find(label);
  if (place == graph.label_lookup_.end() || graph.isMarkedDeleted(place->second)) return false;
  const auto* held = reinterpret_cast<const float*>(graph.getDataByInternalId(place->second));
  return std::equal(direction.begin(), direction.end(), held);
}

size_t NearestIndex::bytes() const {
  ReaderLock lock(implementation_->mutex);
  return BytesOf(implementation_->dimensions, implementation_->graph->cur_element_count);
}

size_t NearestIndex::BytesOf(size_t dimensions, size_t vectors) {
  // Bytes of a vector with its label and links; the lowest layer has twice as many links.
  constexpr size_t kLinkBytes = (2 * kLinks + 1) * sizeof(hnswlib::tableint);
  constexpr size_t kLabelBytes = 48;  // entry of the label map
  const size_t element = kLinkBytes + dimensions * sizeof(float) + sizeof(hnswlib::labeltype);
  return vectors * (element + kLabelBytes + kLinks);
}

Status NearestIndex::Save(const std::string& file, const std::string& space,
                          const std::atomic<bool>* stopping) const {
  const std::string draft = DraftOf(file);
  Seal seal{space, implementation_->dimensions, 0, 0};
  IndexFile out(draft, stopping);
  {
    ReaderLock lock(implementation_->mutex);
    WriteGraph(*implementation_->graph, out);
  }
  if (Status written = out.End(seal); !written.ok()) {
    unlink(draft.c_str());
    return written;
  }
  // The old seal is removed first, so that a seal never stands beside a file it does not describe.
  // An index without a seal counts as missing.
  unlink(SealOf(file).c_str());
  if (rename(draft.c_str(), file.c_str()) != 0) return Unwritable(file);
  const std::string bytes = pack::ToBytes(seal);
  const std::string seal_draft = DraftOf(SealOf(file));
  std::ofstream sealed(seal_draft, std::ios::binary | std::ios::trunc);
  sealed.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  sealed.close();
  if (!sealed || rename(seal_draft.c_str(), SealOf(file).c_str()) != 0) return Unwritable(file);
  return Status::Ok();
}

Result<std::shared_ptr<NearestIndex>> NearestIndex::Load(const std::string& file,
                                                         const std::string& space,
                                                         size_t dimensions,
                                                         const std::atomic<bool>* stopping) {
  const std::optional<Seal> seal = ReadSeal(file);
  if (!seal || seal->space != space || seal->dimensions != dimensions) {
    return Status(StatusCode::kNotFound, "no such index");
  }
  const Status damaged(StatusCode::kDataLoss, "a search index is damaged");
  Seal actual;
  AG_RETURN_IF_ERROR(Measure(file, stopping, actual));
  if (actual.bytes != seal->bytes || actual.checksum != seal->checksum) return damaged;
  auto implementation = std::make_unique<Implementation>(dimensions);
  try {
    const WriterLock lock(implementation->mutex);
    implementation->graph =
        std::make_unique<hnswlib::HierarchicalNSW<float>>(&implementation->space, file);
    // loadIndex adds to this counter instead of setting it.
    auto& graph = *implementation->graph;
    graph.num_deleted_ = 0;
    for (size_t i = 0; i < graph.cur_element_count; ++i) {
      if (graph.isMarkedDeleted(static_cast<hnswlib::tableint>(i))) ++graph.num_deleted_;
    }
  } catch (const std::exception&) {
    return damaged;
  }
  return std::shared_ptr<NearestIndex>(new NearestIndex(std::move(implementation)));
}

}  // namespace agent_graph::state
