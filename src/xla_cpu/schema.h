/* Field numbers of the messages that a serialized XLA:CPU executable consists of, as far as
 * cyxla looks into them: an enum for each message, in the order of the message's own file.
 *
 * They were read from the descriptors inside of jaxlib 0.10.2, 0.11.2 and 0.12.0, and are the
 * same in all three.  Older ones numbered thunks differently and stored objects elsewhere, which
 * decoding notices: there the name of a thunk's kind belongs to another field.
 *
 * proto3 leaves out what is zero: an absent number is 0, an absent allocation is allocation 0. */
#ifndef CYXLA_XLA_CPU_SCHEMA_H
#define CYXLA_XLA_CPU_SCHEMA_H

/* ---- xla/pjrt/proto/compile_options.proto ---- */

/* ExecutableAndOptionsProto */
enum { EXECUTABLE_SERIALIZED = 1 };

/* ---- xla/service/cpu/executable.proto ---- */

/* CompilationResultProto */
enum {
  RESULT_HLO_MODULE = 1,
  RESULT_BUFFER_ASSIGNMENT = 2,
  RESULT_OBJECTS_KIND = 5,
  RESULT_THUNKS = 6,
  RESULT_SYMBOLS = 7,
  RESULT_OBJECT_FILES = 8,
  RESULT_TARGET_MACHINE = 9
};
enum { OBJECTS_KERNELS = 2 }; /* of RESULT_OBJECTS_KIND: the code is called by thunks */

enum { SYMBOL_NAME = 2 };                        /* SymbolProto */
enum { OBJECT_CONTENTS = 1 };                    /* ObjFileProto */
enum { TARGET_TRIPLE = 1, TARGET_FEATURES = 3 }; /* TargetMachineOptionsProto */

/* ---- xla/xla_data.proto ---- */

/* ShapeProto */
enum {
  SHAPE_ELEMENT_TYPE = 2,
  SHAPE_DIMENSIONS = 3,
  SHAPE_TUPLE_SHAPES = 4,
  SHAPE_LAYOUT = 5,
  SHAPE_IS_DYNAMIC = 6
};

/* LayoutProto */
enum {
  LAYOUT_MINOR_TO_MAJOR = 1,
  LAYOUT_TILES = 6,
  LAYOUT_ELEMENT_BITS = 7,
  LAYOUT_MEMORY_SPACE = 8,
  LAYOUT_PHYSICAL_SHAPE = 10,
  LAYOUT_METADATA_PREFIX_BYTES = 15,
  LAYOUT_TAIL_ALIGNMENT = 16,
  LAYOUT_SPLIT_CONFIGS = 17
};

/* LiteralProto */
enum {
  LITERAL_SHAPE = 1,
  LITERAL_PREDS = 2,
  LITERAL_U8S = 3,
  LITERAL_S32S = 4,
  LITERAL_S64S = 5,
  LITERAL_U32S = 6,
  LITERAL_U64S = 7,
  LITERAL_F32S = 8,
  LITERAL_F64S = 9,
  LITERAL_F16S = 11,
  LITERAL_C64S = 12,
  LITERAL_BF16S = 13,
  LITERAL_S8S = 15,
  LITERAL_U16S = 16,
  LITERAL_S16S = 17,
  LITERAL_C128S = 18,
  LITERAL_F8E5M2S = 19,
  LITERAL_F8E4M3FNS = 20
};

/* DotDimensionNumbers */
enum {
  DOT_LEFT_CONTRACTING = 1,
  DOT_RIGHT_CONTRACTING = 2,
  DOT_LEFT_BATCH = 3,
  DOT_RIGHT_BATCH = 4
};

/* ---- xla/service/hlo.proto ---- */

enum { MODULE_WITH_CONFIG_MODULE = 1 }; /* HloModuleProtoWithConfig */

/* HloModuleProto */
enum { MODULE_NAME = 1, MODULE_COMPUTATIONS = 3, MODULE_ENTRY_ID = 6 };

/* HloComputationProto */
enum { COMPUTATION_INSTRUCTIONS = 2, COMPUTATION_ID = 5, COMPUTATION_ROOT_ID = 6 };

/* HloInstructionProto */
enum {
  INSTRUCTION_OPCODE = 2,
  INSTRUCTION_SHAPE = 3,
  INSTRUCTION_LITERAL = 8,
  INSTRUCTION_PARAMETER_NUMBER = 9,
  INSTRUCTION_TUPLE_INDEX = 13,
  INSTRUCTION_ID = 35,
  INSTRUCTION_OPERAND_IDS = 36,
  INSTRUCTION_CALLED_COMPUTATION_IDS = 38
};

enum { ASSIGNMENT_LOGICAL_BUFFERS = 1, ASSIGNMENT_ALLOCATIONS = 3 }; /* BufferAssignmentProto */
enum { BUFFER_ID = 1, BUFFER_DEFINED_AT = 3 };                       /* LogicalBufferProto */
enum { LOCATION_SHAPE_INDEX = 3, LOCATION_INSTRUCTION_ID = 4 }; /* LogicalBufferProto.Location */

/* BufferAllocationProto */
enum {
  ALLOCATION_INDEX = 1,
  ALLOCATION_SIZE = 2,
  ALLOCATION_IS_THREAD_LOCAL = 3,
  ALLOCATION_IS_PARAMETER = 5,
  ALLOCATION_PARAMETER_NUMBER = 6,
  ALLOCATION_MAYBE_LIVE_OUT = 7,
  ALLOCATION_COLOR = 8,
  ALLOCATION_ASSIGNED = 9,
  ALLOCATION_PARAMETER_SHAPE_INDEX = 10,
  ALLOCATION_IS_CONSTANT = 12
};

/* BufferAllocationProto.Assigned */
enum { ASSIGNED_BUFFER_ID = 1, ASSIGNED_OFFSET = 2, ASSIGNED_SIZE = 3 };

/* ---- xla/service/buffer_assignment.proto, xla/backends/cpu/runtime/shaped_slice.proto ---- */

enum { SLICE_OFFSET = 1, SLICE_SIZE = 2, SLICE_ALLOCATION = 3 }; /* BufferAllocationSliceProto */
enum { SHAPED_SLICE_SLICE = 1 };                                 /* ShapedSliceProto */

/* ---- xla/backends/cpu/runtime/thunk.proto ---- */

enum { ARRAY_SHAPE = 1, ARRAY_SLICE = 2 };        /* ShapeBufferAllocationSliceProto */
enum { OPTIONAL_VALUE = 1, OPTIONAL_IS_SET = 2 }; /* Int64Optional, SortDirectionOptional */

enum { SEQUENCE_THUNKS = 1 }; /* ThunkSequenceProto */

/* ThunkProto; from THUNK_FIRST_MEMBER on, a thunk has exactly one of the fields */
enum {
  THUNK_KIND = 1,
  THUNK_INFO = 2,
  THUNK_FIRST_MEMBER = 3,
  THUNK_CALL = 3,
  THUNK_CONDITIONAL = 4,
  THUNK_SORT = 5,
  THUNK_XNN_FUSION = 6,
  THUNK_DOT = 7,
  THUNK_RNG_STATE = 8,
  THUNK_TOP_K = 9,
  THUNK_WHILE = 10,
  THUNK_KERNEL = 11,
  THUNK_COPY = 12,
  THUNK_FFT = 13,
  THUNK_INFEED = 14,
  THUNK_OUTFEED = 15,
  THUNK_CUSTOM_CALL = 16,
  THUNK_CONVOLUTION = 17,
  THUNK_COLLECTIVE = 18,
  THUNK_PARTITION_ID = 19,
  THUNK_REPLICA_ID = 20,
  THUNK_YNN_FUSION = 21,
  THUNK_RNG_SEED = 22
};
enum { INFO_OP_NAME = 1 }; /* InfoProto */

enum { CALL_SEQUENCE = 1 };                               /* CallThunkProto */
enum { CONDITIONAL_BRANCHES = 1, CONDITIONAL_INDEX = 2 }; /* ConditionalThunkProto */
enum { COPY_SOURCE = 1, COPY_DESTINATION = 2 };           /* CopyThunkProto */
enum { DEVICE_ID_BUFFER = 1 };                      /* PartitionIdThunkProto, ReplicaIdThunkProto */
enum { RNG_STATE_DELTA = 1, RNG_STATE_BUFFER = 2 }; /* RngGetAndUpdateStateThunkProto */

/* CustomCallThunkProto and its OpBuffers */
enum {
  CUSTOM_CALL_API_VERSION = 1,
  CUSTOM_CALL_TARGET = 2,
  CUSTOM_CALL_CONFIG = 3,
  CUSTOM_CALL_BUFFERS = 4
};
enum { OP_BUFFERS_ARGUMENTS = 1, OP_BUFFERS_RESULTS = 2 };

enum { DOT_DIMENSIONS = 1, DOT_LEFT = 2, DOT_RIGHT = 3, DOT_RESULT = 4 }; /* DotThunkProto */

/* KernelThunkProto and its NumWorkGroups */
enum {
  KERNEL_NAME = 1,
  KERNEL_WORKGROUPS = 2,
  KERNEL_MIN_ALIGNMENT = 4,
  KERNEL_ARGUMENTS = 5,
  KERNEL_RESULTS = 6
};
enum { WORKGROUPS_X = 1, WORKGROUPS_Y = 2, WORKGROUPS_Z = 3 };

/* SortThunkProto */
enum {
  SORT_DIMENSION = 1,
  SORT_IS_STABLE = 2,
  SORT_DIRECTION = 3,
  SORT_COMPARATOR = 4,
  SORT_OPERANDS = 5
};

/* TopKThunkProto */
enum {
  TOP_K_BATCH_SIZE = 1,
  TOP_K_INPUT_SIZE = 2,
  TOP_K_K = 3,
  TOP_K_VALUES = 4,
  TOP_K_OUTPUT = 5,
  TOP_K_INDICES = 6
};

/* WhileThunkProto */
enum { WHILE_CONDITION = 1, WHILE_BODY = 2, WHILE_TRIP_COUNT = 3, WHILE_PREDICATE = 4 };

#endif
