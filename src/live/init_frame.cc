#include "live/init_frame.h"

#include <algorithm>

#include "agent_graph/json.h"
#include "base/json.h"
#include "base/letter_case.h"
#include "live/thread_memory.h"

namespace agent_graph::live {
namespace {

constexpr size_t kNameBytesMax = 256;
constexpr size_t kTagsMax = 100;
constexpr int64_t kMillisecondsMax = 60'000;
constexpr JsonLimits kInitJsonLimits = {32, 10'000};

Status Unusable(const std::string& key, const std::string& problem) {
  return Status(StatusCode::kInvalidArgument, key + ": " + problem);
}

// Reads members of an object and keeps the first error.
class Reader {
 public:
  Reader(const json& object, std::string prefix) : object_(object), prefix_(std::move(prefix)) {}

  // Null if the member is absent or null.
  const json* Find(const char* key) const {
    auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  void Text(const char* key, size_t bytes_max, std::string& out) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_string()) return Fail(key, "must be a string");
    const auto& text = value->get_ref<const std::string&>();
    if (text.size() > bytes_max) {
      return Fail(key, "must have at most " + std::to_string(bytes_max) + " bytes");
    }
    out = text;
  }

  void Name(const char* key, std::string& out) {
    Text(key, kNameBytesMax, out);
    const bool printable = std::none_of(out.begin(), out.end(),
                                        [](char c) { return c >= 0 && (c < ' ' || c == 0x7f); });
    if (!printable) Fail(key, "must not hold control characters");
  }

  void Milliseconds(const char* key, std::optional<int>& out) {
    const json* value = Find(key);
    if (value == nullptr) return;
    if (!value->is_number() || value->get<double>() < 0 ||
        value->get<double>() > kMillisecondsMax) {
      return Fail(key, "must be a number from 0 to " + std::to_string(kMillisecondsMax));
    }
    out = static_cast<int>(value->get<double>());
  }

  // Accepts "HIGH", "START_SENSITIVITY_HIGH" and "high" as the same value.
  void Sensitivity(const char* key, std::string& out) {
    std::string text;
    Text(key, kNameBytesMax, text);
    if (text.empty()) return;
    text = LowerCase(text);
    if (text.ends_with("high")) {
      out = "high";
    } else if (text.ends_with("low")) {
      out = "low";
    } else {
      Fail(key, "must be \"high\" or \"low\"");
    }
  }

  void Fail(const std::string& key, const std::string& problem) {
    if (status_.ok()) status_ = Unusable(prefix_ + key, problem);
  }
  const Status& status() const { return status_; }

 private:
  const json& object_;
  const std::string prefix_;
  Status status_;
};

// Reads exactly one of AUDIO and TEXT, alone or in a list.
void ReadModality(Reader& reader, std::optional<Modality>& out) {
  const json* value = reader.Find("modalities");
  if (value == nullptr) return;
  if (value->is_array() && value->size() == 1) value = &value->front();
  if (*value == "AUDIO") {
    out = Modality::kAudio;
  } else if (*value == "TEXT") {
    out = Modality::kText;
  } else {
    reader.Fail("modalities", "must be exactly one of AUDIO and TEXT");
  }
}

void ReadTags(Reader& reader, std::optional<std::vector<std::string>>& out) {
  const json* value = reader.Find("tools_tags");
  if (value == nullptr) return;
  const bool texts =
      value->is_array() && value->size() <= kTagsMax &&
      std::all_of(value->begin(), value->end(), [](const json& tag) { return tag.is_string(); });
  if (!texts) return reader.Fail("tools_tags", "must be a list of strings");
  out = value->get<std::vector<std::string>>();
}

Status ReadVoiceActivity(Reader& outer, VoiceActivity& vad) {
  const json* value = outer.Find("vad");
  if (value == nullptr) return Status::Ok();
  if (!value->is_object()) return Unusable("vad", "must be an object");
  Reader reader(*value, "vad.");
  if (const json* enabled = reader.Find("enabled")) {
    if (!enabled->is_boolean()) return Unusable("vad.enabled", "must be true or false");
    vad.enabled = enabled->get<bool>();
  }
  reader.Milliseconds("silence_duration_ms", vad.silence_duration_ms);
  reader.Milliseconds("prefix_padding_ms", vad.prefix_padding_ms);
  reader.Sensitivity("start_sensitivity", vad.start_sensitivity);
  reader.Sensitivity("end_sensitivity", vad.end_sensitivity);
  return reader.status();
}

// Reads a text, or an integer as its text. A blank text means none. The API layer checks the format
// of ids.
void ReadThreadId(Reader& reader, std::string& out) {
  const json* value = reader.Find("thread_id");
  if (value == nullptr) return;
  if (value->is_number_integer()) {
    out = DumpJson(*value);
  } else if (value->is_string()) {
    out = value->get<std::string>();
  } else {
    reader.Fail("thread_id", "must be a string");
  }
}

}  // namespace

size_t InitFrame::bytes() const {
  size_t bytes =
      sizeof(InitFrame) + thread_id.size() + model.size() + voice.size() + resumption_handle.size();
  if (system_prompt) bytes += system_prompt->size();
  if (tools_tags) {
    for (const std::string& tag : *tools_tags) bytes += sizeof(tag) + tag.size();
  }
  return bytes;
}

Result<InitFrame> ReadInitFrame(const bridge::SocketMessage& message) {
  const Status no_object(StatusCode::kInvalidArgument,
                         "the first frame must be a JSON object, as text");
  if (message.binary) return no_object;
  Result<json> parsed = ParseJson(message.payload, kInitJsonLimits);
  if (!parsed.ok() || !parsed->is_object()) return no_object;

  InitFrame init;
  Reader reader(*parsed, "");
  ReadThreadId(reader, init.thread_id);
  reader.Name("model", init.model);
  reader.Name("voice", init.voice);
  ReadModality(reader, init.modality);
  if (reader.Find("system_prompt") != nullptr) {
    reader.Text("system_prompt", message.payload.size(), init.system_prompt.emplace());
  }
  ReadTags(reader, init.tools_tags);
  AG_RETURN_IF_ERROR(ReadVoiceActivity(reader, init.vad));
  reader.Text("resumption_handle", kHandleBytesMax, init.resumption_handle);
  AG_RETURN_IF_ERROR(reader.status());
  return init;
}

}  // namespace agent_graph::live
