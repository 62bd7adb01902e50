# agent_graph_folder(engine/state DEPENDS engine/base ... LIBRARIES leveldb::leveldb)
#
# Adds the source files of one folder to its group: engine/state and all folders below it are the group
# engine/state, one object library with the target engine_state. Subfolders are not included; they are
# folders of their own. DEPENDS lists exactly the folders whose headers the files include:
# t/tree/include_edges.py, run by ctest, fails if an include has no edge here, if an edge is not used,
# and if there is a cycle. LINKS lists folders that are only linked, because they implement functions
# declared in the SDK's headers.
#
# If t/unit/<folder> exists, one test program is built from it and added to the target `unit_tests`.
# TESTED_BY names a folder whose test program takes these tests as well. TESTS_LINK lists folders that
# only the tests need.
#
# agent_graph_finish_folders() defines the object libraries and test programs of all folders.
#
# agent_graph_link(target folder...) links a program with the groups of the folders and everything they
# depend on. The folders must have been declared before.
if(AGENT_GRAPH_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
  add_custom_target(unit_tests)
endif()

set(AGENT_GRAPH_EDGES ${CMAKE_BINARY_DIR}/include_edges.txt)
file(WRITE ${AGENT_GRAPH_EDGES} "")

set(AGENT_GRAPH_INCLUDES ${CMAKE_SOURCE_DIR}/engine ${CMAKE_SOURCE_DIR}/engine/include
    ${CMAKE_SOURCE_DIR}/src ${CMAKE_BINARY_DIR}/generated)

# Without ccache the headers that nearly all files include are compiled once (cmake/precompiled.h), which
# saves a fifth of a build. ccache would need settings of its own for that, and saves more.
set(precompiled OFF)
if(NOT CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL GNU AND AGENT_GRAPH_UNITY)
  set(precompiled ON)
endif()
option(AGENT_GRAPH_PRECOMPILED "Compile common headers once" ${precompiled})

if(AGENT_GRAPH_PRECOMPILED)
  # The compiler's garbage collector would walk through the whole precompiled header again and again. It
  # now begins at 512 MiB, so that most files need no collection.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
  add_library(agent_graph_precompiled OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled_json.cc)
  target_link_libraries(agent_graph_precompiled PRIVATE agent_graph_flags)
  target_include_directories(agent_graph_precompiled PRIVATE ${AGENT_GRAPH_INCLUDES})
  target_precompile_headers(agent_graph_precompiled PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
endif()

# Most of the time of a build goes into the same headers, so the files of a group are compiled in
# batches of about this size. Larger ones would make the build after a change slow; with a precompiled
# header they compile faster. Those of src, which are optimized less, are half as large again.
set(batch_bytes 60000)
if(AGENT_GRAPH_PRECOMPILED)
  set(batch_bytes 80000)
endif()
set(AGENT_GRAPH_BATCH_BYTES ${batch_bytes} CACHE STRING "Size of a batch of sources that are compiled at once")

# Code that no request spends time in. It is compiled fast instead of being optimized.
set(AGENT_GRAPH_COLD src_admin src_cli src_evals src_facades src_service src_settings src_telemetry)

# t/mutation/mutate.py replaces the object of one source at a time.
set(AGENT_GRAPH_ALONE "" CACHE STRING "Groups (src_api) whose files are compiled alone, not optimized")

# agent_graph_object_library(target source...)   Compiles the sources in batches, or each alone without
# AGENT_GRAPH_UNITY. A batch is a file that includes sources by their paths below the root, so that
# ccache finds it again in another build directory or checkout.
function(agent_graph_object_library target)
  if(NOT AGENT_GRAPH_UNITY OR target IN_LIST AGENT_GRAPH_ALONE)
    add_library(${target} OBJECT ${ARGN})
    if(target IN_LIST AGENT_GRAPH_ALONE)
      target_compile_options(${target} PRIVATE -O0)
    endif()
    return()
  endif()
  set(bytes_max ${AGENT_GRAPH_BATCH_BYTES})
  if(target MATCHES "^src_")
    math(EXPR bytes_max "${bytes_max} * 3 / 2")
  elseif(AGENT_GRAPH_PRECOMPILED AND target STREQUAL engine_net)
    math(EXPR bytes_max "${bytes_max} * 3 / 4")  # Boost.Beast makes its files slow
  endif()
  set(batches)
  set(content)
  set(bytes 0)
  set(number 1)
  foreach(source ${ARGN})
    file(SIZE ${source} size)
    math(EXPR bytes "${bytes} + ${size}")
    if(content AND bytes GREATER bytes_max)
      set(batch ${CMAKE_BINARY_DIR}/batches/${target}_${number}.cc)
      file(CONFIGURE OUTPUT ${batch} CONTENT "${content}")
      list(APPEND batches ${batch})
      set(content)
      set(bytes ${size})
      math(EXPR number "${number} + 1")
    endif()
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    string(APPEND content "#include \"${path}\"\n")
  endforeach()
  set(batch ${CMAKE_BINARY_DIR}/batches/${target}_${number}.cc)
  file(CONFIGURE OUTPUT ${batch} CONTENT "${content}")
  add_library(${target} OBJECT ${batches} ${batch})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  # g++ treats included source files as headers and warns.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# Lets the files of an object library use the precompiled header. The functions of JSON values are then
# compiled once, too: in the target agent_graph_precompiled, which every program links.
function(agent_graph_precompiled target)
  if(NOT AGENT_GRAPH_PRECOMPILED OR target IN_LIST AGENT_GRAPH_ALONE OR target STREQUAL engine_extract)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM agent_graph_precompiled)
endfunction()

function(agent_graph_group_of folder result)
  string(REGEX MATCH "^[^/]+/[^/]+" group ${folder})
  string(REPLACE "/" "_" target ${group})
  set(${result} ${target} PARENT_SCOPE)
endfunction()

function(agent_graph_folder folder)
  cmake_parse_arguments(ARG "" "TESTED_BY" "DEPENDS;LINKS;LIBRARIES;TESTS_LINK" ${ARGN})
  list(JOIN ARG_DEPENDS " " dependencies)
  file(APPEND ${AGENT_GRAPH_EDGES} "${folder}: ${dependencies}\n")

  get_property(finished GLOBAL PROPERTY AGENT_GRAPH_FINISHED)
  if(finished)
    message(FATAL_ERROR "${folder} must be declared before agent_graph_finish_folders()")
  endif()
  agent_graph_group_of(${folder} group)
  set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_GROUPS ${group})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cc)
  set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_SOURCES_${group} ${sources})
  foreach(dependency ${ARG_DEPENDS} ${ARG_LINKS})
    agent_graph_group_of(${dependency} needed)
    set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_NEEDS_${group} ${needed})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_LIBRARIES_${group} ${ARG_LIBRARIES})

  set(tested_by ${folder})
  if(ARG_TESTED_BY)
    set(tested_by ${ARG_TESTED_BY})
  endif()
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/t/unit/${folder}/*_test.cc)
  set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_FOLDERS ${folder})
  set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_TESTS_${tested_by} ${tests})
  set_property(GLOBAL APPEND PROPERTY AGENT_GRAPH_TESTS_LINK_${folder} ${ARG_TESTS_LINK})
endfunction()

function(agent_graph_finish_folders)
  set_property(GLOBAL PROPERTY AGENT_GRAPH_FINISHED TRUE)
  get_property(groups GLOBAL PROPERTY AGENT_GRAPH_GROUPS)
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    get_property(sources GLOBAL PROPERTY AGENT_GRAPH_SOURCES_${group})
    get_property(libraries GLOBAL PROPERTY AGENT_GRAPH_LIBRARIES_${group})
    if(sources)
      agent_graph_object_library(${group} ${sources})
      target_link_libraries(${group} PRIVATE agent_graph_flags agent_graph_strict ${libraries})
      target_include_directories(${group} PRIVATE ${CMAKE_SOURCE_DIR}/engine
                                 ${CMAKE_SOURCE_DIR}/engine/include ${CMAKE_BINARY_DIR}/generated)
      agent_graph_precompiled(${group})
      if(group MATCHES "^src_")
        target_include_directories(${group} PRIVATE ${CMAKE_SOURCE_DIR}/src)
        # Requests spend their time in the engine; -O3 would only make this code slower to compile.
        set(level -O2)
        if(group IN_LIST AGENT_GRAPH_COLD)
          set(level -O1)
        endif()
        if(NOT group IN_LIST AGENT_GRAPH_ALONE)
          target_compile_options(${group} PRIVATE $<$<CONFIG:Release>:${level}>)
        endif()
      endif()
    endif()
  endforeach()

  get_property(folders GLOBAL PROPERTY AGENT_GRAPH_FOLDERS)
  foreach(folder ${folders})
    get_property(tests GLOBAL PROPERTY AGENT_GRAPH_TESTS_${folder})
    get_property(linked GLOBAL PROPERTY AGENT_GRAPH_TESTS_LINK_${folder})
    if(AGENT_GRAPH_TESTS AND tests)
      string(REPLACE "/" "_" name ${folder})
      agent_graph_unit_test(test_${name} FOLDERS ${folder} ${linked} SOURCES ${tests})
    endif()
  endforeach()
endfunction()

# agent_graph_closure(objects libraries folder...)   The object files of the folders' groups and of the
# groups they need, and all their libraries.
function(agent_graph_closure objects libraries)
  set(groups)
  foreach(folder ${ARGN})
    agent_graph_group_of(${folder} group)
    list(APPEND groups ${group})
  endforeach()
  set(seen)
  set(object_files)
  set(all_libraries)
  while(groups)
    list(POP_FRONT groups group)
    if(NOT group IN_LIST seen)
      list(APPEND seen ${group})
      get_property(sources GLOBAL PROPERTY AGENT_GRAPH_SOURCES_${group})
      if(sources)
        # Groups of the engine come first: of a function of a template that several groups contain, the
        # linker takes the first copy, and these are optimized most.
        list(PREPEND object_files $<TARGET_OBJECTS:${group}>)
      endif()
      get_property(needed GLOBAL PROPERTY AGENT_GRAPH_NEEDS_${group})
      list(APPEND groups ${needed})
      get_property(more GLOBAL PROPERTY AGENT_GRAPH_LIBRARIES_${group})
      list(APPEND all_libraries ${more})
    endif()
  endwhile()
  list(REMOVE_DUPLICATES all_libraries)
  if(AGENT_GRAPH_PRECOMPILED)
    list(PREPEND object_files $<TARGET_OBJECTS:agent_graph_precompiled>)
  endif()
  set(${objects} ${object_files} PARENT_SCOPE)
  set(${libraries} ${all_libraries} PARENT_SCOPE)
endfunction()

function(agent_graph_link target)
  agent_graph_closure(objects libraries ${ARGN})
  target_sources(${target} PRIVATE ${objects})
  target_include_directories(${target} PRIVATE ${AGENT_GRAPH_INCLUDES})
  target_link_libraries(${target} PRIVATE agent_graph_flags ${libraries})
endfunction()

# agent_graph_unit_test(test_x FOLDERS engine/x SOURCES x_test.cc ... [LIBRARIES ...] [TOGETHER pattern])
#
# Each test runs in a process of its own, except those whose names match TOGETHER: they run in one
# process and share servers that are slow to start.
function(agent_graph_unit_test target)
  cmake_parse_arguments(ARG "" "TOGETHER" "FOLDERS;SOURCES;LIBRARIES" ${ARGN})
  add_executable(${target} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  agent_graph_link(${target} ${ARG_FOLDERS})
  target_link_libraries(${target} PRIVATE ${ARG_LIBRARIES} GTest::gtest GTest::gmock
                        GTest::gtest_main)
  # Test code is compiled more often than it runs, so it is not optimized; the code under test is.
  # Tests name the members that matter to them; g++ would warn of each of the others.
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O0> -Wno-missing-field-initializers)
  if(AGENT_GRAPH_SANITIZER)
    set_source_files_properties(${ARG_SOURCES} PROPERTIES COMPILE_OPTIONS -O0)
  endif()
  # Tests of AG_CHECK set private members, to make states that only a bug could cause.
  set(invariants ${ARG_SOURCES})
  list(FILTER invariants INCLUDE REGEX "/invariants_test\\.cc$")
  set_property(SOURCE ${invariants} APPEND PROPERTY COMPILE_OPTIONS -fno-access-control)
  # User graphs that a test loads resolve SDK symbols from the test program.
  set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
  if(ARG_TOGETHER)
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_FILTER "-${ARG_TOGETHER}"
                         PROPERTIES TIMEOUT 900)
    add_test(NAME ${target}_together COMMAND ${target} "--gtest_filter=${ARG_TOGETHER}")
    set_tests_properties(${target}_together PROPERTIES TIMEOUT 900)
  else()
    gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
  endif()
  add_dependencies(unit_tests ${target})
endfunction()
