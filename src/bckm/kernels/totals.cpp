namespace bckm {

double totals(double value) { return value; }

}  // namespace bckm
