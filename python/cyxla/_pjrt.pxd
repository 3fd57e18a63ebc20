# cython: language_level=3
"""Element types, under the names and with the numbers of the PJRT C API."""

cdef extern from "cyxla/cyxla.h" nogil:
    ctypedef enum PJRT_Buffer_Type "cyxla_element_type":
        PJRT_Buffer_Type_PRED "CYXLA_PRED"
        PJRT_Buffer_Type_S8 "CYXLA_S8"
        PJRT_Buffer_Type_S16 "CYXLA_S16"
        PJRT_Buffer_Type_S32 "CYXLA_S32"
        PJRT_Buffer_Type_S64 "CYXLA_S64"
        PJRT_Buffer_Type_U8 "CYXLA_U8"
        PJRT_Buffer_Type_U16 "CYXLA_U16"
        PJRT_Buffer_Type_U32 "CYXLA_U32"
        PJRT_Buffer_Type_U64 "CYXLA_U64"
        PJRT_Buffer_Type_F16 "CYXLA_F16"
        PJRT_Buffer_Type_F32 "CYXLA_F32"
        PJRT_Buffer_Type_F64 "CYXLA_F64"
        PJRT_Buffer_Type_BF16 "CYXLA_BF16"
        PJRT_Buffer_Type_C64 "CYXLA_C64"
        PJRT_Buffer_Type_C128 "CYXLA_C128"
