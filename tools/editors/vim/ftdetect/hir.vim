au BufRead,BufNewFile *.hir,*.hostir setfiletype hir
