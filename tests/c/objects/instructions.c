/* A function of some instructions, which is not run. */
__asm__(".text\n.globl instructions\n.type instructions, @function\ninstructions:\n " INSTRUCTIONS
        "\n ret\n");
