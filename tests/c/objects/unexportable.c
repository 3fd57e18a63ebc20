/* Code that the direct engine's linker takes, and that can't be made independent of its address:
 * one of these for each object. */
#if defined(FIXED)
/* An instruction whose address of 64 bits is not for a register. */
__asm__(
    ".section .rodata\n number: .quad 1\n"
    ".text\n.globl fixed\n.type fixed, @function\nfixed:\n movabsq number, %rax\n ret\n");
#elif defined(RELATIVE)
/* Another code model. */
__asm__(
    ".section .rodata\n number: .quad 1\n"
    ".text\n.globl relative\n.type relative, @function\nrelative:\n"
    " movq number(%rip), %rax\n ret\n");
#elif defined(TABLES)
/* The address of a function of libm as a constant. */
__asm__(
    ".section .rodata\n number: .quad sin\n"
    ".text\n.globl tables\n.type tables, @function\ntables:\n"
    " movabsq $number, %rax\n ret\n");
#elif defined(DISTANCES)
/* How far it is to code, as a constant. */
__asm__(
    ".section .rodata\n number: .long distances - .\n"
    ".text\n.globl distances\n.type distances, @function\ndistances:\n"
    " movabsq $number, %rax\n ret\n");
#elif defined(INSIDE)
/* A place in a function of libm. */
__asm__(
    ".text\n.globl inside\n.type inside, @function\ninside:\n"
    " movabsq $sin+8, %rax\n ret\n");
#endif
