#include "admin/reembed.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "memory/embedder.h"
#include "runtime/runtime.h"
#include "runtime/signal.h"
#include "settings/state_options.h"
#include "state/maintenance.h"

namespace agent_graph::admin {
namespace {

constexpr uint64_t kPage = 128;
constexpr std::chrono::minutes kEmbeddingMax{10};  // per text, including retries and waiting
// Consecutive refused texts after which the provider is considered to be failing.
constexpr int kRefusalsMax = 5;

using Vector = Result<std::vector<float>>;

class Reembedder {
 public:
  Reembedder(state::Backend& client, memory::Embedder& embedder, runtime::Runtime& runtime)
      : client_(client), embedder_(embedder), runtime_(runtime) {}

  Result<Reembedded> Run() {
    state::ListUnembeddedRequest list;
    list.space = embedder_.space();
    list.limit = kPage;
    AG_ASSIGN_OR_RETURN(const std::vector<float> probe, Begin("tea").Wait());
    list.dimensions = probe.size();
    do {
      AG_ASSIGN_OR_RETURN(const state::UnembeddedPage page, client_.ListUnembedded(list));
      done_.looked_at += page.looked_at;
      AG_RETURN_IF_ERROR(Take(page.memories));
      list.cursor = page.next_cursor;
    } while (!list.cursor.empty());
    return done_;
  }

 private:
  struct Pending {
    runtime::Promise<Vector> promise;
    Vector Wait() const {
      Result<Vector> vector = promise.Wait(nullptr, kNoDeadline);
      return vector.ok() ? *std::move(vector) : Vector(vector.status());
    }
  };

  Pending Begin(const std::string& text) {
    Pending pending;
    runtime_.Spawn([this, text, promise = pending.promise] {
      promise.Set(embedder_.Embed(text, never_, DeadlineAfter(kEmbeddingMax)));
    });
    return pending;
  }

  // The embedder combines many texts into one request. Each text without a vector is tried again
  // alone.
  Status Take(const std::vector<state::UnembeddedMemory>& memories) {
    std::vector<Pending> pending;
    pending.reserve(memories.size());
    for (const state::UnembeddedMemory& memory : memories) pending.push_back(Begin(memory.content));
    std::vector<Vector> vectors;
    vectors.reserve(memories.size());
    for (const Pending& one : pending) vectors.push_back(one.Wait());
    state::ReplaceVectorsRequest put;
    for (size_t i = 0; i < memories.size(); ++i) {
      if (!vectors[i].ok()) vectors[i] = Begin(memories[i].content).Wait();
      if (!vectors[i].ok()) {
        ++done_.failed;
        if (++refusals_ >= kRefusalsMax) return vectors[i].status();
        continue;
      }
      refusals_ = 0;
      put.vectors.push_back({memories[i].id, memories[i].content, EmbeddingOf(*vectors[i])});
    }
    if (put.vectors.empty()) return Status::Ok();
    AG_ASSIGN_OR_RETURN(const state::ReplacedVectors replaced, client_.ReplaceVectors(put));
    done_.embedded += replaced.count;
    done_.changed += put.vectors.size() - replaced.count;
    return Status::Ok();
  }

  state::Embedding EmbeddingOf(const std::vector<float>& vector) const {
    state::Embedding embedding;
    embedding.space = embedder_.space();
    embedding.values.resize(vector.size() * sizeof(float));
    std::memcpy(embedding.values.data(), vector.data(), embedding.values.size());
    return embedding;
  }

  state::Backend& client_;
  memory::Embedder& embedder_;
  runtime::Runtime& runtime_;
  const runtime::Cancellation never_;
  Reembedded done_;
  int refusals_ = 0;
};

}  // namespace

Result<Reembedded> Reembed(StateAccess& state, const settings::Settings& settings) {
  if (settings.store.type != settings::StoreSettings::Type::kLevelDb) {
    return Status(StatusCode::kNotConfigured, "the service keeps no memories in this directory");
  }
  AG_ASSIGN_OR_RETURN(const std::unique_ptr<memory::Embedder> embedder,
                      memory::MakeEmbedder(settings.embedding, settings.environment));
  runtime::RuntimeOptions options;
  options.name = "reembed";
  runtime::Runtime runtime(options);
  AG_RETURN_IF_ERROR(runtime.Start());
  return state.AskAnyServer(
      settings::StateOptionsOf(settings, state.directory().path()),
      [&](state::Backend& client) { return Reembedder(client, *embedder, runtime).Run(); });
}

}  // namespace agent_graph::admin
