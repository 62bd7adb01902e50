// The functions of JSON values that cmake/precompiled.h declares as compiled here.
template class nlohmann::basic_json<agent_graph::OrderedMap>;
template class nlohmann::detail::serializer<agent_graph::json>;
template class std::vector<agent_graph::json>;
