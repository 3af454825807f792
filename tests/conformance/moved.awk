# What `hirc run --check --stats` says of a run: with -v kernels=1 the number of kernels of rank 0, how
# often a rank executed each operation that moves data, and whether the numbers are right.
$1 == "0" && kernels { print "kernels", $2 }
/^operation/ { moves = 1; next }
/^copies of views/ { next }
/^ok/ { sub(/, largest error.*/, ""); print; next }
moves { print $1, $2 }
