// Messages in the form of AG-UI, read from requests and written for clients.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "agent_graph/json_fwd.h"
#include "agent_graph/message.h"
#include "api/http/validation.h"
#include "api/resources/message_input.h"

namespace agent_graph::agui {

// Reads the entries with these indices of an array whose entries the table of fields has checked.
// Messages of activities are left out; a message of reasoning becomes a part of the next answer.
// Problems are added to `problems`; the result is then not complete.
std::vector<Message> ReadMessages(const json& array, const std::vector<size_t>& indices,
                                  const api::MessageLimits& limits, api::Problems& problems);
// Returns the indices of an array from `first` on.
std::vector<size_t> IndicesFrom(const json& array, size_t first);

// Returns the index after the last message of the assistant; 0: there is none.
size_t TailOf(const json& array);

// The id under which clients see the reasoning of a message, and the result of a call: a message of
// ours may have several results, in AG-UI each is a message. `index` counts from 0.
std::string ReasoningId(std::string_view message_id, size_t index = 0);
std::string ResultId(std::string_view message_id, size_t index);
// The id of the message that has the result; the id itself if it is not of that form.
std::string MessageOfResult(const std::string& result_id);
// A result as text.
std::string ResultText(const ToolResultBlock& result);
// The id of the message of ours that brings the images and files of results to the model. A client
// has them in its messages with the results, the last of which has the id `result_id`.
std::string AttachmentsId(std::string_view result_id);
// `result_id` of such an id; empty: it is another one.
std::string_view ResultOfAttachments(std::string_view id);

// Writes messages as a client has them, as members of one JSON array.
class MessageList {
 public:
  // `has_result_parts`: results have their images and files, which clients before 1.0 do not know.
  explicit MessageList(bool has_result_parts = true) : has_result_parts_(has_result_parts) {}

  // Appends a message. It may be several in AG-UI, or none.
  void Append(const Message& message);
  // Appends a message of reasoning without a text, which takes the text from a client that has it.
  void AppendBlankReasoning(std::string_view message_id);

  // The array.
  std::string Json() const;
  size_t bytes() const;
  // The ids in the list, in order; those of reasoning are left out.
  std::vector<std::string> ids() const;
  // The same with the messages that KeepLast has removed.
  const std::vector<std::string>& appended_ids() const { return appended_ids_; }
  // Ids of the calls that were appended.
  const std::unordered_set<std::string>& calls() const { return calls_; }
  // Puts those of the client's messages in front that are older than the list: a snapshot without
  // them would remove them from the client. Returns false if the list then has more than
  // `bytes_max`.
  bool AddOlder(const json& client_messages, size_t bytes_max);
  // Removes messages from the front until the others have `bytes_max` at most.
  void KeepLast(size_t bytes_max);
  // The list lacks older messages of the thread.
  void MarkCut() { is_cut_ = true; }
  bool is_cut() const { return is_cut_; }

 private:
  struct Entry {
    std::string json;
    std::string id = {};       // empty: a message of reasoning
    std::string call_id = {};  // of a result
    size_t content_at = 0;     // of a result: where its content begins, which is its last member
  };

  std::string& Begin(std::string_view id, std::string_view role);
  void AppendAnswer(const Message& message);
  void AppendResults(const Message& message);
  // Moves images and files to the results to which they belong.
  void AppendAttachments(const Message& attachments);
  void AddToResult(const std::string& call_id, const std::string& parts);

  bool has_result_parts_;
  std::vector<Entry> entries_;
  std::vector<std::string> appended_ids_;
  std::unordered_set<std::string> calls_;
  bool is_cut_ = false;
};

}  // namespace agent_graph::agui
