/* The layout of program files, version 1.  docs/files.md describes it. */
#ifndef CYXLA_FILE_FORMAT_H
#define CYXLA_FILE_FORMAT_H

enum { FORMAT_VERSION = 1 };

/* The first bytes, of every version.  As in PNG's signature, transfers in text mode don't leave them as they
 * are: they strip the eighth bit, change the ends of lines, or stop at the control character. */
#define FORMAT_MAGIC \
  "\x89"             \
  "CYX\r\n\x1a\n"
enum { MAGIC_SIZE = 8 };

/* The header: little-endian numbers at these offsets.  The magic and the version are where every version has
 * them.  Behind the header is the table of sections, and behind that the checksum of both. */
enum {
  HEADER_VERSION = 8,        /* 4 bytes */
  HEADER_SECTION_COUNT = 12, /* 4 bytes */
  HEADER_FILE_SIZE = 16,     /* 8 bytes */
  HEADER_SIZE = 24,
  CHECKSUM_SIZE = 8
};

/* An entry of the table of sections. */
enum {
  ENTRY_KIND = 0,   /* 4 bytes */
  ENTRY_FLAGS = 4,  /* 4 bytes */
  ENTRY_OFFSET = 8, /* 8 bytes, of the section in the file */
  ENTRY_SECTION_SIZE = 16,
  ENTRY_CHECKSUM = 24,
  ENTRY_SIZE = 32
};

/* Sections lie in the order of the table, each at the next multiple of this, with zeros in between, and the
 * file ends with the last one. */
enum { SECTION_ALIGNMENT = 64 };

/* Kinds of sections, each of which occurs once at most. */
enum {
  SECTION_DESCRIPTION = 1, /* always there */
  SECTION_STABLEHLO = 2,
  SECTION_EXECUTABLE = 3,
  SECTION_KIND_COUNT = 4 /* 0 is none */
};

/* Flags of sections: a reader that does not know the kind may pass over it. */
enum { SECTION_OPTIONAL = 1 };

/* The description: a message in protobuf's wire format, in which unknown fields are passed over.  Texts are
 * UTF-8 and end with a byte 0, which is counted, so that they can be used where they lie. */
enum {
  DESCRIPTION_NAME = 1,
  DESCRIPTION_PLATFORM = 2,
  DESCRIPTION_FINGERPRINT = 3,
  DESCRIPTION_CPU_FEATURES = 4,
  DESCRIPTION_INPUTS = 5,    /* repeated */
  DESCRIPTION_OUTPUTS = 6,   /* repeated */
  DESCRIPTION_TARGETS = 7,   /* repeated texts */
  DESCRIPTION_PRODUCERS = 8, /* repeated */
  DESCRIPTION_METADATA = 9,  /* repeated */
  DESCRIPTION_OPTIONS = 10   /* repeated */
};

/* An input or output. */
enum {
  ARRAY_NAME = 1,
  ARRAY_ELEMENT_TYPE = 2, /* a cyxla_element_type */
  ARRAY_DIMENSIONS = 3    /* packed */
};

/* A producer or metadata. */
enum { PAIR_NAME = 1, PAIR_VALUE = 2 };

/* A compile option: `kind` tells which of the others is there. */
enum {
  OPTION_NAME = 1,
  OPTION_KIND = 2, /* a cyxla_option_kind */
  OPTION_STRING = 3,
  OPTION_INT64 = 4,
  OPTION_DOUBLE = 5,
  OPTION_BOOL = 6
};

#endif
